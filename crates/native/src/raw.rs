//! The unsafe part: loading a library, and calling the functions that every emitted file has.
//!
//! What makes it sound:
//! - the library was compiled from an emitted file whose [`Interface`](almach_emit::Interface) the caller has, so its symbols
//!   have the types used here (the header's text says the same);
//! - the context is made and freed here, is used by one call at a time (`&mut self`), and goes before the library;
//! - cells handed to a call outlive it, and have the types of the parameters ([`crate::library`] checks that);
//! - blocks that a call gives are read with the size that they carry, and given back once.
//!
//! What it takes on trust: that emitted code stays inside of the buffers it gets, which holds where the sizes among
//! the arguments are those of the buffers. The compiler's checks, and tests under sanitizers, are there for that.

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;
use std::ptr;

type Context = *mut c_void;
type New = unsafe extern "C" fn() -> Context;
type Free = unsafe extern "C" fn(Context);
type SetThreads = unsafe extern "C" fn(Context, c_int);
type SetMaxDepth = unsafe extern "C" fn(Context, i64);
type SetDevice = unsafe extern "C" fn(Context, *const c_char);
type TimeKernels = unsafe extern "C" fn(Context, bool) -> c_int;
type KernelTime =
    unsafe extern "C" fn(Context, c_int, *mut *const c_char, *mut f64, *mut f64, *mut i64) -> c_int;
type ErrorText = unsafe extern "C" fn(Context) -> *const c_char;
type Failure = unsafe extern "C" fn(Context, *mut *const u64) -> c_int;
type Size = unsafe extern "C" fn(*const c_void) -> i64;
type Release = unsafe extern "C" fn(Context, *mut c_void);
type Account = unsafe extern "C" fn(*mut i64);
type SetMaxBytes = unsafe extern "C" fn(i64);
type Call = unsafe extern "C" fn(Context, *mut *mut c_void) -> c_int;

/// A loaded library with a context of its own.
pub struct Loaded {
    context: Context,
    free: Free,
    set_threads: SetThreads,
    set_max_depth: SetMaxDepth,
    /// Of libraries with kernels.
    set_device: Option<SetDevice>,
    times: Option<(TimeKernels, KernelTime)>,
    error_text: ErrorText,
    failure: Failure,
    /// Of libraries that count what they do to memory.
    account: Option<(Account, SetMaxBytes)>,
    /// Of those that also count how long threads work.
    idle: Option<Account>,
    size: Size,
    release: Release,
    /// Last: it is closed after everything else is gone.
    library: Library,
}

// SAFETY: the context has no ties to a thread, and `&mut self` lets one thread at a time use it.
unsafe impl Send for Loaded {}

/// A block that a call gave, with its size.
pub struct Block {
    data: *mut c_void,
    context: Context,
    release: Release,
    size: usize,
}

impl Loaded {
    pub fn open(path: &Path, name: &str) -> Result<Loaded, String> {
        let say = |error: libloading::Error| match std::error::Error::source(&error) {
            Some(why) => format!("{error}: {why}"),
            None => error.to_string(),
        };
        // SAFETY: emitted files have no code that runs when they are loaded.
        let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.map_err(say)?;
        keep_what_threads_need(&library, path);
        // SAFETY: the header gives these symbols these types.
        unsafe {
            let symbol = |part: &str| format!("{name}_{part}");
            let new = *library.get::<New>(symbol("new").as_bytes()).map_err(say)?;
            let mut loaded = Loaded {
                context: ptr::null_mut(),
                free: *library.get(symbol("free").as_bytes()).map_err(say)?,
                set_threads: *library.get(symbol("set_threads").as_bytes()).map_err(say)?,
                set_max_depth: *library.get(symbol("set_max_depth").as_bytes()).map_err(say)?,
                set_device: library
                    .get(symbol("set_device").as_bytes())
                    .map(|found| *found)
                    .ok(),
                times: library
                    .get(symbol("time_kernels").as_bytes())
                    .and_then(|start| Ok((*start, *library.get(symbol("kernel_time").as_bytes())?)))
                    .ok(),
                error_text: *library.get(symbol("error").as_bytes()).map_err(say)?,
                failure: *library.get(symbol("failure").as_bytes()).map_err(say)?,
                account: library
                    .get(symbol("account").as_bytes())
                    .and_then(|account| Ok((*account, *library.get(symbol("set_max_bytes").as_bytes())?)))
                    .ok(),
                idle: library.get(b"almach_idle").map(|found| *found).ok(),
                size: *library.get(symbol("size").as_bytes()).map_err(say)?,
                release: *library.get(symbol("release").as_bytes()).map_err(say)?,
                library,
            };
            loaded.context = new();
            match loaded.context.is_null() {
                true => Err("there is not enough memory for a context".into()),
                false => Ok(loaded),
            }
        }
    }

    pub fn set_threads(&mut self, threads: c_int) {
        // SAFETY: the context is alive.
        unsafe { (self.set_threads)(self.context, threads) }
    }

    /// Which device kernels run on, where there are kernels.
    pub fn set_device(&mut self, device: &CStr) {
        if let Some(set_device) = self.set_device {
            // SAFETY: the context is alive, and the text is copied.
            unsafe { set_device(self.context, device.as_ptr()) }
        }
    }

    /// Measures how long kernels take, where there are kernels.
    pub fn time_kernels(&mut self) {
        if let Some((start, _)) = self.times {
            // SAFETY: the context is alive.
            unsafe {
                start(self.context, true);
            }
        }
    }

    /// What was measured of the kernel of a number, or of transfers: its name, seconds in all and of the fastest, and how often.
    pub fn kernel_time(&self, number: c_int) -> Option<(String, [f64; 2], i64)> {
        let (_, time) = self.times?;
        let (mut name, mut seconds, mut least, mut count) = (ptr::null(), 0.0, 0.0, 0);
        // SAFETY: the context is alive; the name is a text of the library.
        unsafe {
            if time(
                self.context,
                number,
                &mut name,
                &mut seconds,
                &mut least,
                &mut count,
            ) != 0
            {
                return None;
            }
            Some((
                CStr::from_ptr(name).to_string_lossy().into_owned(),
                [seconds, least],
                count,
            ))
        }
    }

    pub fn set_max_depth(&mut self, depth: i64) {
        // SAFETY: the context is alive.
        unsafe { (self.set_max_depth)(self.context, depth) }
    }

    /// Allocations so far, the most bytes at once, and bytes copied; none where the library does not count.
    pub fn account(&self) -> Option<[i64; 3]> {
        let (account, _) = self.account?;
        let mut numbers = [0; 3];
        // SAFETY: the function writes three numbers.
        unsafe { account(numbers.as_mut_ptr()) };
        Some(numbers)
    }

    /// For how many nanoseconds several threads ran side by side, for how many of these the idlest had something to do, and how many there
    /// were; none where the library does not count, or has no loops on threads.
    pub fn idle(&self) -> Option<[i64; 3]> {
        let idle = self.idle?;
        let mut numbers = [0; 3];
        // SAFETY: the function writes three numbers.
        unsafe { idle(numbers.as_mut_ptr()) };
        Some(numbers)
    }

    pub fn set_max_bytes(&mut self, bytes: i64) {
        if let Some((_, set)) = self.account {
            // SAFETY: the function sets a number of the library, which no call reads meanwhile.
            unsafe { set(bytes) }
        }
    }

    /// Calls a function by the name of its form with pointers. Every cell must point to what the function's parameter wants
    /// there. The status: 0 when it did not fail.
    pub fn call(&mut self, symbol: &str, cells: &mut [*mut c_void]) -> Result<c_int, String> {
        // SAFETY: the function takes a context and as many cells as the caller says; see the top of the file.
        unsafe {
            let function = self
                .library
                .get::<Call>(symbol.as_bytes())
                .map_err(|error| error.to_string())?;
            Ok(function(self.context, cells.as_mut_ptr()))
        }
    }

    /// The number of the site where the last call failed, and as many raw values as asked for.
    pub fn failure(&mut self, values: impl FnOnce(usize) -> usize) -> (c_int, Vec<u64>) {
        let mut raw: *const u64 = ptr::null();
        // SAFETY: the context is alive; the pointer it gives is into it, to the values of the largest message.
        unsafe {
            let site = (self.failure)(self.context, &mut raw);
            let count = values(usize::try_from(site).unwrap_or(0));
            (site, (0..count).map(|at| *raw.add(at)).collect())
        }
    }

    /// The message of the last failure as C programs see it.
    pub fn error_text(&mut self) -> Option<CString> {
        // SAFETY: the text ends with a zero and is copied before another call changes it.
        unsafe {
            let text = (self.error_text)(self.context);
            (!text.is_null()).then(|| std::ffi::CStr::from_ptr(text).to_owned())
        }
    }

    /// Takes a block that a call put into a cell.
    pub fn block(&self, data: *mut c_void) -> Block {
        // SAFETY: the size stands in front of every block; NULL has none.
        let size = unsafe { (self.size)(data) };
        Block {
            data,
            context: self.context,
            release: self.release,
            size: usize::try_from(size).unwrap_or(0),
        }
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // SAFETY: made by `new` (or NULL), freed once, while the library is loaded.
        unsafe { (self.free)(self.context) }
    }
}

/// A type whose values are in blocks.
pub trait Element: Copy {}

impl Element for i8 {}
impl Element for i16 {}
impl Element for i32 {}
impl Element for i64 {}
impl Element for u8 {}
impl Element for u16 {}
impl Element for u32 {}
impl Element for u64 {}
impl Element for f32 {}
impl Element for f64 {}

impl Block {
    /// The elements, which have the type that the parameter has.
    pub fn elements<T: Element>(&self) -> Vec<T> {
        if self.data.is_null() || self.size == 0 {
            return Vec::new();
        }
        // SAFETY: a block holds so many elements, is aligned for all types, and every bit pattern is a value of `T`. Emitted
        // code writes all cells of a result.
        unsafe { std::slice::from_raw_parts(self.data.cast::<T>(), self.size).to_vec() }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: the block was given by a call, and is given back once. `Loaded` outlives it in `library`.
        unsafe { (self.release)(self.context, self.data) }
    }
}

/// What must stay of a library that uses OpenMP, until the process ends, when it is closed.
///
/// The run time always: its threads sleep between parallel loops, in its code. With gcc's that is enough: a thread has left
/// the library's code before the loop's last barrier, nothing in the run time points into the library, and its critical
/// sections have their lock in the run time. Clang's keeps pointers to the places of parallel loops and to the locks of
/// critical sections, which are the library's, and follows them when the process ends: there the library stays as well.
fn keep_what_threads_need(library: &Library, path: &Path) {
    #[cfg(target_os = "linux")]
    const NO_DELETE: c_int = 0x1000;
    #[cfg(not(target_os = "linux"))]
    const NO_DELETE: c_int = 0x80;
    // SAFETY: the symbols are looked for (also in what the library depends on), and not used.
    let has = |symbol: &str| unsafe { library.get::<*const c_void>(symbol) }.is_ok();
    let stays = match (has("__kmpc_fork_call"), has("GOMP_parallel")) {
        (true, _) => path,
        (false, true) => Path::new("libgomp.so.1"),
        (false, false) => return,
    };
    // SAFETY: it is loaded already, so no code runs. It is told to stay.
    let _ = unsafe { Library::open(Some(stays), RTLD_NOW | RTLD_LOCAL | NO_DELETE) };
}
