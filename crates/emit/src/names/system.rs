//! What the headers that emitted files include declare: no function of an emitted file may have such a name. (A local
//! variable may; it hides what no emitted code uses.)

use std::collections::HashSet;
use std::sync::LazyLock;

/// Whether a header of C, of POSIX or of a common C library declares this name.
pub fn declares(name: &str) -> bool {
    let stem_in = |set: &HashSet<&str>, endings: &[&str]| {
        endings
            .iter()
            .any(|ending| name.strip_suffix(ending).is_some_and(|stem| set.contains(stem)))
    };
    stem_in(&WORDS, &["", "64", "_r", "_l", "_unlocked"])
        || stem_in(
            &MATH_WORDS,
            &[
                "", "f", "l", "_r", "f_r", "l_r", "f32", "f32x", "f64", "f64x", "f128",
            ],
        )
}

static WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| OF_SYSTEM.split_whitespace().collect());
static MATH_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| OF_MATH.split_whitespace().collect());

/// `dirent.h`, `dlfcn.h`, `inttypes.h`, `math.h`, `sched.h`, `stdio.h`, `stdlib.h`, `string.h`, `sys/stat.h`, `time.h`, `unistd.h`;
/// many of them with a second form (`strtod_l`, `lseek64`).
const OF_SYSTEM: &str = "\
    DIR FILE a64l abort abs access acct alarm aligned_alloc alloca alphasort arc4random arc4random_buf \
    arc4random_uniform asctime asprintf at_quick_exit atexit atof atoi atol atoll basename bcmp bcopy brk bsearch \
    bzero calloc canonicalize_file_name chdir chmod chown chroot clearenv clearerr clock clock_adjtime \
    clock_getcpuclockid clock_getres clock_gettime clock_nanosleep clock_settime clone close close_range closedir \
    closefrom confstr copy_file_range crypt ctermid ctime cuserid daddl daemon daylight ddivl dfmal difftime dirfd \
    div dladdr dladdr1 dlclose dlerror dlinfo dlmopen dlopen dlsym dlvsym dmull dprintf drand48 dsqrtl dsubl dup dup2 \
    dup3 dysize eaccess ecvt endusershell environ erand48 euidaccess execl execle execlp execv execve execveat execvp \
    execvpe exit explicit_bzero faccessat fadd faddl fchdir fchmod fchmodat fchown fchownat fclose fcloseall fcvt \
    fdatasync fdiv fdivl fdopen fdopendir feof ferror fexecve fflush ffma ffmal ffs ffsl ffsll fgetc fgetpos fgets \
    fileno flockfile fmemopen fmul fmull fopen fopencookie fork fpathconf fpclassify fprintf fputc fputs fread free \
    freopen fscanf fseek fseeko fsetpos fsqrt fsqrtl fstat fstatat fsub fsubl fsync ftell ftello ftruncate \
    ftrylockfile funlockfile futimens fwrite gcvt get_current_dir_name getc getchar getcpu getcwd getdate getdate_err \
    getdelim getdents64 getdirentries getdomainname getdtablesize getegid getentropy getenv geteuid getgid getgroups \
    gethostid gethostname getline getloadavg getlogin getopt getpagesize getpass getpgid getpgrp getpid getppid getpt \
    getresgid getresuid getsid getsubopt gettid getuid getumask getusershell getw getwd gmtime grantpt group_member \
    imaxabs imaxdiv index initstate isatty iscanonical iseqsig isfinite isgreater isgreaterequal isless islessequal \
    islessgreater isnormal issignaling issubnormal isunordered iszero jrand48 l64a labs lchmod lchown lcong48 ldiv \
    lgamma_r lgammaf128_r lgammaf32_r lgammaf32x_r lgammaf64_r lgammaf64x_r lgammaf_r lgammal_r link linkat linux \
    llabs lldiv localtime lockf lrand48 lseek lstat malloc math_errhandling mblen mbstowcs mbtowc memccpy memchr \
    memcmp memcpy memfrob memmem memmove mempcpy memrchr memset mkdir mkdirat mkdtemp mkfifo mkfifoat mknod mknodat \
    mkostemp mkostemps mkstemp mkstemps mktemp mktime mrand48 nanosleep nice nrand48 obstack_printf obstack_vprintf \
    offsetof on_exit open_memstream opendir optarg opterr optind optopt pathconf pause pclose perror pipe pipe2 popen \
    posix_memalign posix_openpt pread printf profil pselect ptsname putc putchar putenv puts putw pwrite qecvt qfcvt \
    qgcvt qsort quick_exit rand random rawmemchr read readdir readlink readlinkat realloc reallocarray realpath \
    remove rename renameat renameat2 revoke rewind rewinddir rindex rmdir rpmatch sbrk scandir scandirat scanf \
    sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getcpu sched_getparam sched_getscheduler \
    sched_rr_get_interval sched_setaffinity sched_setparam sched_setscheduler sched_yield secure_getenv seed48 \
    seekdir select setbuf setbuffer setdomainname setegid setenv seteuid setgid sethostid sethostname setlinebuf \
    setlogin setns setpgid setpgrp setregid setresgid setresuid setreuid setsid setstate setuid setusershell setvbuf \
    sigabbrev_np sigdescr_np signbit signgam sleep snprintf sprintf srand srand48 srandom sscanf stat statx stderr \
    stdin stdout stpcpy stpncpy strcasecmp strcasestr strcat strchr strchrnul strcmp strcoll strcpy strcspn strdup \
    strdupa strerror strerrordesc_np strerrorname_np strfromd strfromf strfroml strfry strftime strlen strncasecmp \
    strncat strncmp strncpy strndup strndupa strnlen strpbrk strptime strrchr strsep strsignal strspn strstr strtod \
    strtof strtoimax strtok strtol strtold strtoll strtoq strtoul strtoull strtoumax strtouq strverscmp strxfrm swab \
    symlink symlinkat sync syncfs syscall sysconf system tcgetpgrp tcsetpgrp telldir tempnam time timegm timelocal \
    timer_create timer_delete timer_getoverrun timer_gettime timer_settime timespec_get timespec_getres timezone \
    tmpfile tmpnam truncate ttyname ttyslot tzname tzset u_char u_int u_long u_short ualarm uint ulong umask ungetc \
    unix unlink unlinkat unlockpt unsetenv unshare ushort usleep utimensat valloc vasprintf vdprintf versionsort \
    vfork vfprintf vfscanf vhangup vprintf vscanf vsnprintf vsprintf vsscanf wcstoimax wcstombs wcstoumax wctomb \
    write";

/// Functions of `math.h`, each for several types.
const OF_MATH: &str = "\
    acos acosh asin asinh atan atan2 atanh canonicalize cbrt ceil copysign cos cosh drem erf erfc exp exp10 exp2 \
    expm1 fabs fdim finite floor fma fmax fmaximum fmaximum_mag fmaximum_mag_num fmaximum_num fmaxmag fmin fminimum \
    fminimum_mag fminimum_mag_num fminimum_num fminmag fmod frexp fromfp fromfpx gamma getpayload hypot ilogb isinf \
    isnan j0 j1 jn ldexp lgamma llogb llrint llround log log10 log1p log2 logb lrint lround modf nan nearbyint \
    nextafter nextdown nexttoward nextup pow remainder remquo rint round roundeven scalb scalbln scalbn setpayload \
    setpayloadsig significand sin sincos sinh sqrt tan tanh tgamma totalorder totalordermag trunc ufromfp ufromfpx y0 \
    y1 yn";

#[cfg(test)]
mod tests {
    use super::declares;

    #[test]
    fn knows_the_forms_of_a_function() {
        for name in [
            "read",
            "puts",
            "strtod_l",
            "lseek64",
            "hypotf",
            "lgammaf_r",
            "timezone",
        ] {
            assert!(declares(name), "{name}");
        }
        for name in ["main", "mirror", "puts_1", "rows", "readf"] {
            assert!(!declares(name), "{name}");
        }
    }
}
