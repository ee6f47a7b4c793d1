//! How a program is compiled and run.

use almach_driver::back::{self, Without};
use std::path::PathBuf;

/// What a program is compiled to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// C for one thread.
    C,
    /// C with OpenMP.
    OpenMp,
    /// C that starts kernels through OpenCL.
    OpenCl,
    /// C that starts kernels through CUDA's driver.
    Cuda,
}

impl Target {
    pub(crate) fn back(self) -> back::Target {
        match self {
            Target::C => back::Target::C,
            Target::OpenMp => back::Target::OpenMp,
            Target::OpenCl => back::Target::OpenCl,
            Target::Cuda => back::Target::Cuda,
        }
    }
}

/// The rewrites that every program goes through, as name and description, in the order they first run.
pub fn passes() -> impl Iterator<Item = (&'static str, &'static str)> {
    back::pass_order()
        .into_iter()
        .map(|pass| (pass.name, pass.description))
}

/// How a program is compiled and run. Values do not depend on any of this.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use almach::{Program, Settings, Target};
///
/// let program = Program::almach("entry main (n: i64): i64 = sum (iota n)")?;
/// let settings = Settings::new(Target::OpenMp).threads(4).c_compiler("clang").without("fusion")?;
/// let machine = program.compile(&settings)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Settings {
    pub(crate) target: Target,
    pub(crate) without: Vec<&'static str>,
    pub(crate) links: Vec<PathBuf>,
    pub(crate) c_compiler: Option<String>,
    pub(crate) cache: Option<PathBuf>,
    pub(crate) threads: usize,
    pub(crate) max_depth: Option<usize>,
}

impl Settings {
    pub fn new(target: Target) -> Settings {
        Settings {
            target,
            without: Vec::new(),
            links: Vec::new(),
            c_compiler: None,
            cache: None,
            threads: 0,
            max_depth: None,
        }
    }

    /// Switches off a rewrite of [`passes`]; the error is a name that none has.
    pub fn without(mut self, pass: &str) -> Result<Settings, UnknownPass> {
        let known = passes().map(|(name, _)| name).find(|name| *name == pass);
        self.without
            .push(known.ok_or_else(|| UnknownPass(pass.to_owned()))?);
        Ok(self)
    }

    /// Links a C file, an object or a library that defines foreign functions. A `.cl` or `.cu` file defines them for kernels.
    #[must_use]
    pub fn link(mut self, file: impl Into<PathBuf>) -> Settings {
        self.links.push(file.into());
        self
    }

    /// The command that compiles C; otherwise what `CC` says, else `cc`.
    #[must_use]
    pub fn c_compiler(mut self, command: &str) -> Settings {
        self.c_compiler = Some(command.to_owned());
        self
    }

    /// The folder that keeps compiled libraries; otherwise the user's cache.
    #[must_use]
    pub fn cache(mut self, folder: impl Into<PathBuf>) -> Settings {
        self.cache = Some(folder.into());
        self
    }

    /// How many threads a call uses; otherwise `ALMACH_NUM_THREADS`, else one for each processor.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Settings {
        self.threads = threads;
        self
    }

    /// How many calls of a recursion may wait for others before the call fails.
    #[must_use]
    pub fn max_depth(mut self, depth: usize) -> Settings {
        self.max_depth = Some(depth);
        self
    }

    pub(crate) fn passes_off(&self) -> Without {
        Without::named(self.without.iter().copied()).unwrap_or_default()
    }
}

/// No rewrite has this name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownPass(pub String);

impl std::fmt::Display for UnknownPass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "there is no pass `{}`", self.0)
    }
}

impl std::error::Error for UnknownPass {}
