//! The system's C compiler.
//!
//! A shared library is kept under the hash of everything it depends on: the files, the flags, the compiler, the
//! processor it was made for. It is built in a folder of its own and renamed, so that two runs at once never see half of one.

use crate::cache;
use crate::kernel_text::is_for_kernels;
use almach_base::codes::cli as codes;
use almach_base::{Diagnostic, Span};
use almach_emit::{CSource, Target};
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU64, Ordering};

/// Strict IEEE: no contraction, nothing that `-ffast-math` would allow.
const FLAGS: &[&str] = &[
    "-std=c11",
    "-O3",
    if cfg!(target_arch = "aarch64") {
        "-mcpu=native"
    } else {
        "-march=native"
    },
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    // gcc 12 for processors with AVX loses a value of a small unrolled loop otherwise (a matrix of 4 x 4 whose new cells
    // are minima of old ones: `examples/floyd_warshall.alm`).
    "-fno-tree-slp-vectorize",
];

const SHARED: &[&str] = &["-fPIC", "-shared"];

/// A C compiler, and where it keeps what it makes.
#[derive(Clone, Debug)]
pub struct Toolchain {
    words: Vec<String>,
    flags: Vec<String>,
    /// Tells one compiler from another without starting it.
    identity: String,
    cache: PathBuf,
}

/// A library that is ready to be loaded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Compiled {
    pub path: PathBuf,
    pub origin: Origin,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// It was there already.
    Cache,
    /// The C compiler ran.
    Compiler,
}

pub(crate) type Native<T> = Result<T, Box<Diagnostic>>;

impl Toolchain {
    /// `CC`, else `cc`. `CC` may hold options (`ccache gcc`).
    pub fn find() -> Native<Toolchain> {
        let command = std::env::var("CC").ok().filter(|text| !text.trim().is_empty());
        Toolchain::of(command.as_deref().unwrap_or("cc"))
    }

    /// The compiler of a command.
    pub fn of(command: &str) -> Native<Toolchain> {
        let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
        let program = words.first().map_or("cc", String::as_str);
        if executable(program).is_none() {
            return Err(missing(&words, "there is no such program"));
        }
        Ok(Toolchain {
            identity: identity(&words),
            words,
            flags: FLAGS.iter().map(|flag| (*flag).to_string()).collect(),
            cache: cache::folder(),
        })
    }

    /// With other flags behind the usual ones.
    pub fn with_flags<'f>(mut self, flags: impl IntoIterator<Item = &'f str>) -> Toolchain {
        self.flags.extend(flags.into_iter().map(str::to_owned));
        self
    }

    /// With another folder to keep libraries in.
    pub fn with_cache(mut self, folder: impl Into<PathBuf>) -> Toolchain {
        self.cache = folder.into();
        self
    }

    /// The shared library of emitted files, with other files (C sources, objects, libraries) linked to it: from the cache, or
    /// compiled into it.
    pub fn library(&self, source: &CSource, target: Target, links: &[PathBuf]) -> Native<Compiled> {
        let key = self.key(source, target, links)?;
        let path = self.cache.join(format!("{key}.so"));
        if path.exists() {
            cache::touch(&path);
            return Ok(Compiled {
                path,
                origin: Origin::Cache,
            });
        }
        cache::make(&self.cache)?;
        self.shared_library(source, target, links, &path)?;
        cache::prune(&self.cache);
        Ok(Compiled {
            path,
            origin: Origin::Compiler,
        })
    }

    /// Compiles emitted files to a shared library of a given name.
    pub fn shared_library(
        &self,
        source: &CSource,
        target: Target,
        links: &[PathBuf],
        to: &Path,
    ) -> Native<()> {
        let mut flags: Vec<&str> = self.flags.iter().map(String::as_str).collect();
        flags.extend(SHARED);
        flags.extend(target_flags(target));
        self.compile(source, &flags, links, to)
    }

    /// Compiles emitted files and a C file with `main` to a program.
    pub fn program(&self, source: &CSource, target: Target, links: &[PathBuf], to: &Path) -> Native<()> {
        let mut flags: Vec<&str> = self.flags.iter().map(String::as_str).collect();
        flags.extend(target_flags(target));
        self.compile(source, &flags, links, to)
    }

    /// Whether it can compile for threads. The answer is kept.
    pub fn supports_openmp(&self) -> bool {
        let key = hash([self.identity.as_bytes(), self.words.join(" ").as_bytes()]);
        let (yes, no) = (
            self.cache.join(format!("{key}.openmp")),
            self.cache.join(format!("{key}.no-openmp")),
        );
        if yes.exists() || no.exists() {
            return yes.exists();
        }
        if cache::make(&self.cache).is_err() {
            return false;
        }
        let probe = CSource {
            header_name: "probe.h".into(),
            header: String::new(),
            kernels: String::new(),
            source: "#include <omp.h>\nint probe(void) { return omp_get_max_threads(); }\n".into(),
            interface: almach_emit::Interface {
                name: "probe".into(),
                procs: Vec::new(),
                foreign: Vec::new(),
                sites: Vec::new(),
            },
        };
        let library = self.cache.join(format!("{key}.probe"));
        let works = self.shared_library(&probe, Target::OpenMp, &[], &library).is_ok();
        let _ = std::fs::remove_file(&library);
        let _ = std::fs::write(if works { &yes } else { &no }, []);
        works
    }

    fn key(&self, source: &CSource, target: Target, links: &[PathBuf]) -> Native<String> {
        let mut parts = vec![
            source.header.clone().into_bytes(),
            source.source.clone().into_bytes(),
            self.words.join(" ").into_bytes(),
            self.identity.clone().into_bytes(),
            self.flags.join(" ").into_bytes(),
            target_flags(target).join(" ").into_bytes(),
            processor(),
        ];
        for link in links.iter().filter(|link| !is_for_kernels(link)) {
            // What is made refers to a shared library by where it is.
            parts.extend(linked(link).into_iter().map(OsString::into_encoded_bytes));
            if !is_library_name(link) {
                parts.push(std::fs::read(link).map_err(|error| unreadable(link, &error))?);
            }
        }
        Ok(hash(parts.iter().map(Vec::as_slice)))
    }

    fn compile(&self, source: &CSource, flags: &[&str], links: &[PathBuf], to: &Path) -> Native<()> {
        let folder = Scratch::beside(to)?;
        let name = source
            .header_name
            .strip_suffix(".h")
            .unwrap_or(&source.header_name);
        let source_path = folder.0.join(format!("{name}.c"));
        folder.write(&folder.0.join(&source.header_name), &source.header)?;
        folder.write(&source_path, &source.source)?;
        let partial = folder.0.join("made");
        let mut command = self.command();
        command.args(flags).arg("-I").arg(&folder.0);
        // A foreign function that is not what the program declares is an error of its file.
        if !links.is_empty() {
            command.arg("-include").arg(folder.0.join(&source.header_name));
        }
        let output = command
            .arg(&source_path)
            .args(
                links
                    .iter()
                    .filter(|link| !is_for_kernels(link))
                    .flat_map(|link| linked(link)),
            )
            .arg("-o")
            .arg(&partial)
            .arg("-lm")
            .output()
            .map_err(|error| missing(&self.words, &error.to_string()))?;
        if !output.status.success() {
            return Err(refused(&self.words, &output));
        }
        std::fs::rename(&partial, to).map_err(|error| Box::new(cache::unwritable(to, &error)))
    }

    fn command(&self) -> Command {
        let (program, rest) = self
            .words
            .split_first()
            .map_or(("cc", &[][..]), |(first, rest)| (first.as_str(), rest));
        let mut command = Command::new(program);
        command.args(rest);
        command
    }
}

/// What is said of a file to the linker. A shared library is found, when the program runs, where it was when it was linked.
fn linked(link: &Path) -> Vec<OsString> {
    let name = link.file_name().unwrap_or_default().to_string_lossy();
    let is_shared = name.ends_with(".so") || name.contains(".so.") || name.ends_with(".dylib");
    match (is_shared && !is_library_name(link), std::path::absolute(link)) {
        (true, Ok(path)) => {
            let mut option = OsString::from("-Wl,-rpath,");
            option.push(path.parent().unwrap_or(&path));
            vec![path.into_os_string(), option]
        }
        _ => vec![link.as_os_str().to_owned()],
    }
}

/// `-lm`: a library that the linker finds.
fn is_library_name(link: &Path) -> bool {
    link.to_string_lossy().starts_with("-l")
}

fn target_flags(target: Target) -> &'static [&'static str] {
    match target {
        Target::C => &[],
        Target::OpenMp => &["-fopenmp"],
        Target::OpenCl | Target::Cuda => &["-ldl"],
    }
}

/// A folder that goes when it is no longer needed.
struct Scratch(PathBuf);

impl Scratch {
    /// Beside a file, so that renaming to it is one step.
    fn beside(file: &Path) -> Native<Scratch> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = file.with_file_name(format!(".{name}.{}.{number}", std::process::id()));
        std::fs::create_dir_all(&folder).map_err(|error| Box::new(cache::unwritable(&folder, &error)))?;
        Ok(Scratch(folder))
    }

    fn write(&self, path: &Path, text: &str) -> Native<()> {
        std::fs::write(path, text).map_err(|error| Box::new(cache::unwritable(path, &error)))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn hash<'p>(parts: impl IntoIterator<Item = &'p [u8]>) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize().to_hex().as_str().chars().take(32).collect()
}

/// Where the system would find a program.
fn executable(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| path.is_file());
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders)
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())
}

/// The programs among the words of a command, with their sizes and dates: a new version is another compiler.
fn identity(words: &[String]) -> String {
    let mut text = String::new();
    for path in words.iter().filter_map(|word| executable(word)) {
        let real = path.canonicalize().unwrap_or(path);
        let changed = std::fs::metadata(&real)
            .ok()
            .map(|data| (data.len(), data.modified().ok()));
        text.push_str(&format!("{} {changed:?}\n", real.display()));
    }
    text
}

/// What tells one processor from another, for code that uses all it can do. Folders may be shared by machines.
fn processor() -> Vec<u8> {
    let mut first = Vec::new();
    if let Ok(file) = std::fs::File::open("/proc/cpuinfo") {
        let _ = file.take(8192).read_to_end(&mut first);
    }
    // Of the first processor only what stays: not its clock.
    String::from_utf8_lossy(&first)
        .lines()
        .take_while(|line| !line.is_empty())
        .filter(|line| {
            ["model name", "flags", "Features", "CPU part"]
                .iter()
                .any(|key| line.starts_with(key))
        })
        .flat_map(|line| line.bytes().chain([b'\n']))
        .collect()
}

pub(crate) fn unreadable(path: &Path, error: &std::io::Error) -> Box<Diagnostic> {
    let message = format!("cannot read `{}`: {error}", path.display());
    Box::new(Diagnostic::error(codes::UNREADABLE_FILE, Span::NONE, message))
}

fn missing(words: &[String], why: &str) -> Box<Diagnostic> {
    let message = format!("the C compiler `{}` does not run: {why}", words.join(" "));
    let help = "install one (gcc or clang), set CC to the one you have, or use --backend interp";
    Box::new(Diagnostic::error(codes::NO_C_COMPILER, Span::NONE, message).help(help))
}

fn refused(words: &[String], output: &Output) -> Box<Diagnostic> {
    let said = String::from_utf8_lossy(&output.stderr);
    let message = format!("`{}` failed ({})", words.join(" "), output.status);
    Box::new(Diagnostic::error(codes::C_COMPILER_FAILED, Span::NONE, message).note(said.trim().to_owned()))
}
