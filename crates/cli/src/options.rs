//! The command line.

use almach_base::suggest;
use almach_driver::back::{PASSES, Target, Without};
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

/// Marks an argument that looks like an option but is a negative number; taken off again by [`plain`].
const VALUE_MARK: char = '\u{1}';

/// Almach: data-parallel functional programs, compiled.
#[derive(Parser, Debug)]
#[command(name = "almach", version, about, max_term_width = 100)]
pub struct Options {
    #[command(subcommand)]
    pub command: Command,
    /// Report errors as a JSON array on standard error
    #[arg(long, global = true)]
    pub json: bool,
    /// When to use colours
    #[arg(long, global = true, value_enum, default_value_t = Colour::Auto)]
    pub color: Colour,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub enum Colour {
    Auto,
    Always,
    Never,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Compile and run an entry point
    Run(RunOptions),
    /// Check programs without running them
    Check(CheckOptions),
    /// Run the `-- >` tests (`; >` in `.nova`) of files and folders
    Test(TestOptions),
    /// Write a C header, a C source and a shared library of all entry points
    Build(BuildOptions),
    /// Time entry points on given or generated inputs
    Bench(BenchOptions),
    /// Search for the fastest way to run an entry point, and write it as source
    Tune(TuneOptions),
    /// Format source files in place
    Fmt(FmtOptions),
    /// Print any stage of the compiler as text
    Emit(EmitOptions),
    /// Say what was fused, how each operation runs and why, and what is allocated
    Explain(ExplainOptions),
    /// Start a new project
    New(NewOptions),
    /// Try expressions interactively
    Repl(ReplOptions),
    /// List the rewrites that every program goes through
    Passes,
    /// Explain an error code at length
    ExplainError(ExplainErrorOptions),
    /// Print a completion script for a shell
    Completions(CompletionOptions),
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub enum Backend {
    /// The reference interpreter
    Interp,
    /// Sequential C
    C,
    /// C with OpenMP
    Openmp,
    /// Kernels through OpenCL
    Opencl,
    /// Kernels through CUDA
    Cuda,
}

impl Backend {
    /// What it is compiled to; none for the interpreter.
    pub fn target(self) -> Option<Target> {
        match self {
            Backend::Interp => None,
            Backend::C => Some(Target::C),
            Backend::Openmp => Some(Target::OpenMp),
            Backend::Opencl => Some(Target::OpenCl),
            Backend::Cuda => Some(Target::Cuda),
        }
    }
}

/// Which rewrites run.
#[derive(Args, Debug)]
pub struct PassOptions {
    /// Switch a rewrite off (`almach passes` lists them); may be given several times
    #[arg(long, value_name = "PASS", value_parser = pass)]
    without: Vec<&'static str>,
}

impl PassOptions {
    pub fn without(&self) -> Without {
        Without::named(self.without.iter().copied()).unwrap_or_default()
    }
}

/// A number of bytes.
fn bytes(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.chars().last() {
        Some('k' | 'K') => (&text[..text.len() - 1], 1 << 10),
        Some('m' | 'M') => (&text[..text.len() - 1], 1 << 20),
        Some('g' | 'G') => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1u64),
    };
    let number: u64 = digits
        .parse()
        .map_err(|_| "expected a number of bytes, as in `65536`, `64M` or `2G`".to_owned())?;
    number
        .checked_mul(unit)
        .ok_or_else(|| "more bytes than there can be".to_owned())
}

/// The name of a pass as it is known.
fn pass(name: &str) -> Result<&'static str, String> {
    let names = || PASSES.iter().map(|pass| pass.name);
    names().find(|known| *known == name).ok_or_else(|| {
        let near = suggest::nearest(name, names()).map(|near| format!("; did you mean `{near}`?"));
        format!(
            "there is no such pass{} (`almach passes` lists them)",
            near.unwrap_or_default()
        )
    })
}

#[derive(Args, Debug)]
pub struct RunOptions {
    /// The program (`.alm`, `.nova`, or Core as text: `.core`)
    pub file: PathBuf,
    /// Arguments: values in Almach syntax, or files (.npy .npz .json .txt; `-` reads standard input)
    pub args: Vec<String>,
    /// The entry point (default: main, or the only one)
    #[arg(long)]
    pub entry: Option<String>,
    /// What runs it (default: OpenMP C; where the program or the machine does not allow that, the interpreter)
    #[arg(long, value_enum)]
    pub backend: Option<Backend>,
    /// The device of an OpenCL or CUDA back end: its number, or a part of its name (default: the first GPU)
    #[arg(long)]
    pub device: Option<String>,
    /// Write the result to a file (.npy .npz .json .txt) instead of standard output
    #[arg(short, long)]
    pub output: Option<PathBuf>,
    /// Say on standard error where the time went
    #[arg(long)]
    pub time: bool,
    /// Say on standard error what was done to memory: allocations, the most bytes at once, bytes copied
    #[arg(long)]
    pub stats: bool,
    /// The most memory that arrays may take at once (`500k`, `64M`, `2G`, or bytes); where more is needed, the run ends with an error
    /// before that memory is touched
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub max_memory: Option<u64>,
    /// How many calls may be open at once before a recursion is stopped
    #[arg(long)]
    pub max_depth: Option<usize>,
    /// Leave out the run-time checks that are left (bounds, sizes, division, asserts). Where one would have failed, anything may
    /// happen
    #[arg(long)]
    pub unchecked: bool,
    /// A C file, an object, a library, or the name of a library of the system, that defines foreign functions; a `.cl` or
    /// `.cu` file defines them for kernels
    #[arg(long, value_name = "FILE.c|LIB|FILE.cl|FILE.cu")]
    pub link: Vec<String>,
    #[command(flatten)]
    pub passes: PassOptions,
}

#[derive(Args, Debug)]
pub struct BuildOptions {
    pub file: PathBuf,
    /// Where to write: NAME.h, NAME.c and NAME.so; exported names start with NAME. NAME.cu with --backend cuda: NAME.h and
    /// NAME.cu, host and kernels in one source for nvcc
    #[arg(short, long)]
    pub output: PathBuf,
    /// What it is built for
    #[arg(long, value_enum, default_value_t = Backend::Openmp)]
    pub backend: Backend,
    /// Leave out the run-time checks that are left (bounds, sizes, division, asserts). Where one would have failed, anything may
    /// happen
    #[arg(long)]
    pub unchecked: bool,
    /// A C file, an object, a library, or the name of a library of the system, that defines foreign functions; a `.cl` or
    /// `.cu` file defines them for kernels
    #[arg(long, value_name = "FILE.c|LIB|FILE.cl|FILE.cu")]
    pub link: Vec<String>,
    #[command(flatten)]
    pub passes: PassOptions,
}

#[derive(Args, Debug)]
pub struct CheckOptions {
    /// Files, or folders whose `.alm` and `.nova` files are checked
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Print the inferred type of every definition
    #[arg(long)]
    pub types: bool,
}

#[derive(Args, Debug)]
pub struct TestOptions {
    /// Files, or folders whose `.alm` and `.nova` files are tested
    #[arg(required = true)]
    pub paths: Vec<PathBuf>,
    /// What runs the tests
    #[arg(long, value_enum, default_value_t = Backend::Interp)]
    pub backend: Backend,
    /// The device of an OpenCL or CUDA back end: its number, or a part of its name (default: the first GPU)
    #[arg(long)]
    pub device: Option<String>,
    /// A C file, an object, a library, or the name of a library of the system, that defines foreign functions; a `.cl` or
    /// `.cu` file defines them for kernels
    #[arg(long, value_name = "FILE.c|LIB|FILE.cl|FILE.cu")]
    pub link: Vec<String>,
    #[command(flatten)]
    pub passes: PassOptions,
}

#[derive(Args, Debug)]
pub struct BenchOptions {
    pub file: PathBuf,
    /// Arguments as for `run`; without any, inputs are generated
    pub args: Vec<String>,
    /// The entry point (default: all when inputs are generated, else main or the only one)
    #[arg(long)]
    pub entry: Option<String>,
    /// What runs it (default: OpenMP C; where the program or the machine does not allow that, the interpreter)
    #[arg(long, value_enum)]
    pub backend: Option<Backend>,
    /// The device of an OpenCL or CUDA back end: its number, or a part of its name (default: the first GPU)
    #[arg(long)]
    pub device: Option<String>,
    /// The value of every size variable in generated inputs; `n=100,m=20` sets them apart
    #[arg(long, default_value = "1000000")]
    pub size: String,
    /// How many timed runs
    #[arg(long, default_value_t = 10)]
    pub runs: usize,
    /// The seed of generated inputs
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Leave out the run-time checks that are left (bounds, sizes, division, asserts). Where one would have failed, anything may
    /// happen
    #[arg(long)]
    pub unchecked: bool,
    /// A C file, an object, a library, or the name of a library of the system, that defines foreign functions; a `.cl` or
    /// `.cu` file defines them for kernels
    #[arg(long, value_name = "FILE.c|LIB|FILE.cl|FILE.cu")]
    pub link: Vec<String>,
    #[command(flatten)]
    pub passes: PassOptions,
}

#[derive(Args, Debug)]
pub struct TuneOptions {
    pub file: PathBuf,
    /// Arguments as for `run`; without any, inputs are generated
    pub args: Vec<String>,
    /// The entry point (default: main, or the only one)
    #[arg(long)]
    pub entry: Option<String>,
    /// What it is tuned for, and measured on
    #[arg(long, value_enum, default_value_t = Backend::Openmp)]
    pub backend: Backend,
    /// The device of an OpenCL or CUDA back end: its number, or a part of its name (default: the first GPU)
    #[arg(long)]
    pub device: Option<String>,
    /// The sizes of generated inputs: `n=100,m=20`, or one number for all
    #[arg(long)]
    pub size: Option<String>,
    /// How variants are found
    #[arg(long, value_enum, default_value_t = Search::Both)]
    pub search: Search,
    /// How many variants are compiled and measured; the heuristic search looks at eight times as many
    #[arg(long, default_value_t = 40)]
    pub budget: usize,
    /// How many timed runs of each, at most
    #[arg(long, default_value_t = 10)]
    pub runs: usize,
    /// The seed of the search and of generated inputs
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Write the fastest as Almach source
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Draw the distribution of times
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Write the times of all that were measured, the default first
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// A C file, an object, a library, or the name of a library of the system, that defines foreign functions
    #[arg(long, value_name = "FILE.c|LIB")]
    pub link: Vec<String>,
}

/// How variants of a program are found (Lin, section 6.2).
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub enum Search {
    /// From better to better, by an estimate of their time
    Heuristic,
    /// At random
    Random,
    /// Half of the budget each
    Both,
}

#[derive(Args, Debug)]
pub struct FmtOptions {
    /// Files or folders; `-` formats standard input to standard output
    #[arg(required = true)]
    pub paths: Vec<PathBuf>,
    /// Change nothing, list the files that would change, exit 1 if there are any
    #[arg(long)]
    pub check: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub enum Stage {
    /// Core as elaborated
    Core,
    /// Core after the rewrites, with a level on every operation
    Strategy,
    /// The strategy program with its memory: blocks, and where each array lives
    Mem,
    /// The imperative phrase language, before its loops
    Dpia,
    /// The imperative phrase language, with loops
    Loops,
    /// Loops over flat memory; for a device, which of them are kernels
    Imp,
    /// The kernels of a device, as OpenCL C and CUDA C++ in one
    Kernels,
    /// The C source
    C,
    /// The C header
    H,
    /// With --backend cuda, host and kernels in one source for nvcc, which has the same header
    Cu,
}

#[derive(Args, Debug)]
pub struct EmitOptions {
    pub file: PathBuf,
    #[arg(long, value_enum)]
    pub stage: Stage,
    /// Only this entry point (stages after strategy; default: all)
    #[arg(long)]
    pub entry: Option<String>,
    /// The back end that strategy and C are for
    #[arg(long, value_enum, default_value_t = Backend::Openmp)]
    pub backend: Backend,
    /// A file that defines foreign functions for kernels
    #[arg(long, value_name = "FILE.cl|FILE.cu")]
    pub link: Vec<String>,
    #[command(flatten)]
    pub passes: PassOptions,
}

#[derive(Args, Debug)]
pub struct ExplainOptions {
    pub file: PathBuf,
    /// The back end to explain it for
    #[arg(long, value_enum, default_value_t = Backend::Openmp)]
    pub backend: Backend,
    /// A file that defines foreign functions for kernels
    #[arg(long, value_name = "FILE.cl|FILE.cu")]
    pub link: Vec<String>,
}

#[derive(Args, Debug)]
pub struct NewOptions {
    /// The folder to make
    pub path: PathBuf,
}

#[derive(Args, Debug)]
pub struct ReplOptions {
    /// A file whose definitions are there from the start
    pub file: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub struct ExplainErrorOptions {
    /// A code such as E0301; without one, all codes are listed
    pub code: Option<String>,
}

#[derive(Args, Debug)]
pub struct CompletionOptions {
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// Lets negative numbers through as values: `almach run f.alm -3 -1.5`.
pub fn with_negative_values(args: impl Iterator<Item = OsString>) -> Vec<OsString> {
    args.map(|arg| match arg.to_str() {
        Some(text) if is_negative_number(text) => OsString::from(format!("{VALUE_MARK}{text}")),
        _ => arg,
    })
    .collect()
}

/// The argument as it was typed.
pub fn plain(arg: &str) -> &str {
    arg.strip_prefix(VALUE_MARK).unwrap_or(arg)
}

fn is_negative_number(text: &str) -> bool {
    text.strip_prefix('-').is_some_and(|rest| {
        rest.starts_with(|c: char| c.is_ascii_digit() || c == '.')
            || rest.starts_with("inf")
            || rest.starts_with("nan")
    })
}
