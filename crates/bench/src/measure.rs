//! Building and running.

use crate::suite::{Kind, Moves, Numbers, Workload};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the suite is built with, and where.
pub struct Tools {
    pub almach: PathBuf,
    folder: PathBuf,
    pub out: PathBuf,
    cc: String,
    /// The other C++ compiler, where it is here.
    clang: Option<String>,
    /// The threads of all variants, each on a core of its own; as many as there are processors where nothing is said.
    threads: Option<u32>,
}

/// The times of one workload: by variant, nanoseconds per run.
pub struct Measured {
    pub name: &'static str,
    pub size: u64,
    pub kind: Kind,
    pub workload: &'static Workload,
    pub bytes: f64,
    pub flops: f64,
    times: BTreeMap<String, Vec<f64>>,
    /// By variant, the most bytes that a run held at once, results included.
    peaks: BTreeMap<String, f64>,
}

/// What the machine reached in the same run.
pub struct Ceilings {
    /// Bytes per nanosecond.
    pub read: f64,
    pub copy: f64,
    pub stream: f64,
    /// In the cores' own caches.
    pub cached: f64,
    /// Operations per nanosecond.
    pub fma: f64,
}

/// Whether a library checks what may fail.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Checks {
    On,
    Off,
}

/// What a context and the bookkeeping of threads take, whatever the size of the workload is.
const CONTEXT_BYTES: f64 = 4096.0;

const SIZE_OF_CEILINGS: u64 = 1 << 25;

/// Two arrays of so many are in the cores' own caches.
const SIZE_IN_CACHE: u64 = 1 << 16;

impl Tools {
    pub fn new(
        almach: &Path,
        folder: &Path,
        out: &Path,
        cc: &str,
        threads: Option<u32>,
    ) -> Result<Tools, String> {
        std::fs::create_dir_all(out).map_err(|error| format!("{}: {error}", out.display()))?;
        let absolute = |path: &Path| {
            path.canonicalize()
                .map_err(|error| format!("{}: {error}", path.display()))
        };
        Ok(Tools {
            almach: absolute(almach)?,
            folder: absolute(folder)?,
            out: absolute(out)?,
            cc: cc.to_string(),
            clang: clang(),
            threads,
        })
    }

    pub fn has_clang(&self) -> bool {
        self.clang.is_some()
    }

    /// The file of a workload: its own, or an example.
    pub fn program(&self, program: &str) -> PathBuf {
        let name = format!("{program}.alm");
        let own = self.folder.join("workloads").join(&name);
        match own.exists() {
            true => own,
            false => self.folder.join("../examples").join(&name),
        }
    }

    fn library(&self, program: &str, backend: &str, name: &str, checks: Checks) -> Result<PathBuf, String> {
        let target = self.out.join(name);
        let mut command = Command::new(&self.almach);
        command
            .arg("build")
            .arg(self.program(program))
            .args(["--backend", backend, "-o"])
            .arg(&target);
        if checks == Checks::Off {
            command.arg("--unchecked");
        }
        output(&mut command)?;
        Ok(target.with_extension("so"))
    }

    fn compile(&self, folder: &str, program: &str, libraries: &[PathBuf]) -> Result<PathBuf, String> {
        let rivals = self.folder.join("rivals");
        let target = self.out.join(format!("bench_{folder}_{program}"));
        let mut command = Command::new(&self.cc);
        command
            .args([
                "-std=gnu11",
                "-O3",
                "-march=native",
                "-ffp-contract=off",
                "-fopenmp",
                "-Wall",
            ])
            .args(["-Wextra", "-fno-math-errno"])
            .arg("-I")
            .arg(&self.out)
            .arg(self.folder.join(folder).join(format!("{program}.c")))
            .arg(rivals.join("harness.c"))
            .args(libraries)
            .arg(format!("-Wl,-rpath,{}", self.out.display()))
            .args(["-lm", "-ldl", "-o"])
            .arg(&target);
        output(&mut command)?;
        Ok(target)
    }

    /// The C++ of a program, by one compiler: a library whose names end in `ending`.
    fn cpp(&self, program: &str, compiler: &str, ending: &str) -> Result<PathBuf, String> {
        let target = self.out.join(format!("lib{program}{ending}.so"));
        let mut command = Command::new(compiler);
        command
            .args([
                "-std=c++20",
                "-O3",
                "-march=native",
                "-fno-math-errno",
                "-fPIC",
                "-shared",
            ])
            .args(["-Wall", "-Wextra", "-Wpedantic"])
            .arg(format!("-DRIVAL={ending}"))
            .arg(self.folder.join("thesis").join(format!("{program}.cpp")))
            .arg("-o")
            .arg(&target);
        output(&mut command)?;
        Ok(target)
    }

    /// Builds the program of a workload, with ours and its rivals.
    fn build(&self, workload: &Workload) -> Result<PathBuf, String> {
        let program = workload.program;
        let one_thread = self.library(program, "c", &format!("{program}_seq"), Checks::On)?;
        match workload.kind {
            Kind::C => {
                let threads = self.library(program, "openmp", program, Checks::On)?;
                let unchecked = format!("{program}_unchecked");
                let unchecked = self.library(program, "openmp", &unchecked, Checks::Off)?;
                self.compile("rivals", program, &[threads, unchecked, one_thread])
            }
            Kind::Thesis => {
                let gcc = self.cpp(program, "g++", "_gcc")?;
                // Where there is no clang++, the other rival is g++'s once more.
                let clang = self.cpp(program, self.clang.as_deref().unwrap_or("g++"), "_clang")?;
                self.compile("thesis", program, &[one_thread, gcc, clang])
            }
        }
    }

    /// Runs a workload's program and reads what it prints.
    fn times(&self, program: &Path, size: u64, seconds: f64) -> Result<BTreeMap<String, Vec<f64>>, String> {
        let mut command = Command::new(program);
        command.args([size.to_string(), seconds.to_string()]);
        if let Some(threads) = self.threads {
            let threads = threads.to_string();
            command
                .env("OMP_NUM_THREADS", &threads)
                .env("ALMACH_NUM_THREADS", &threads)
                .env("OMP_PLACES", "cores")
                .env("OMP_PROC_BIND", "close")
                .env("OPENBLAS_NUM_THREADS", &threads);
        }
        let text = output(&mut command)?;
        let mut times: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for line in text.lines() {
            let value = line
                .split_once(' ')
                .and_then(|(name, value)| Some((name, value.parse().ok()?)));
            let (name, value) = value.ok_or_else(|| format!("not understood: {line}"))?;
            times.entry(name.to_string()).or_default().push(value);
        }
        Ok(times)
    }
}

/// The newest clang++ of this machine, by any of its names.
fn clang() -> Option<String> {
    let versions = (11..=23).rev().map(|version| format!("clang++-{version}"));
    std::iter::once("clang++".to_owned())
        .chain(versions)
        .find(|name| {
            Command::new(name)
                .arg("--version")
                .output()
                .is_ok_and(|run| run.status.success())
        })
}

/// Runs a command to its end; what it says where it fails is the error.
pub fn output(command: &mut Command) -> Result<String, String> {
    let output = command
        .output()
        .map_err(|error| format!("{}: {error}", command.get_program().display()))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => Err(format!(
            "{} failed: {}",
            command.get_program().display(),
            text(&output.stderr).trim()
        )),
    }
}

pub fn measure(
    tools: &Tools,
    workload: &'static Workload,
    size: u64,
    seconds: f64,
) -> Result<Measured, String> {
    let binary = tools.build(workload)?;
    let mut times = tools.times(&binary, size, seconds)?;
    let names: Vec<String> = times.keys().cloned().collect();
    let mut only = |name: &str| times.remove(name).and_then(|values| values.first().copied());
    let mut peaks = BTreeMap::new();
    for name in names {
        if let Some(variant) = name.strip_suffix("-peak") {
            peaks.extend(only(&name).map(|bytes| (variant.to_owned(), bytes)));
        }
    }
    Ok(Measured {
        name: workload.name,
        size,
        kind: workload.kind,
        workload,
        bytes: only("bytes").unwrap_or(0.0),
        flops: only("flops").unwrap_or(0.0),
        times,
        peaks,
    })
}

impl Measured {
    /// The median time of a variant.
    pub fn median(&self, variant: &str) -> f64 {
        self.times.get(variant).map_or(f64::NAN, |times| median(times))
    }

    pub fn has(&self, variant: &str) -> bool {
        self.times.contains_key(variant)
    }

    /// The rival that is fastest, of those with threads and without.
    pub fn best_rival(&self) -> &'static str {
        let rivals = match self.kind {
            Kind::C => &["tuned", "openblas", "plain"][..],
            Kind::Thesis => &["c++-gcc", "c++-clang"][..],
        };
        let here = rivals.iter().filter(|rival| self.has(rival));
        let fastest = here.min_by(|a, b| self.median(a).total_cmp(&self.median(b)));
        fastest.copied().unwrap_or("tuned")
    }

    /// How far two measurements of the rival are apart.
    pub fn spread(&self) -> f64 {
        match self.kind {
            Kind::C => (self.ratio("tuned", "tuned-again") - 1.0).abs(),
            Kind::Thesis => (self.ratio("c++-gcc", "c++-gcc-again") - 1.0).abs(),
        }
    }

    /// Whether operations take longer than bytes, at the speeds of the machine.
    pub fn computes(&self, ceilings: &Ceilings) -> bool {
        self.flops / self.speed(ceilings) > self.bytes / self.bandwidth(ceilings)
    }

    /// How far ours is from the floor, as a multiple of how far the best known program was from its own; and how many times that it may be.
    pub fn beside_the_best(&self, ceilings: &Ceilings) -> Option<(f64, f64)> {
        let best = self.workload.best?;
        let ours = self.median("almach") / self.floor(ceilings);
        Some((ours / best.floors, best.within))
    }

    fn bandwidth(&self, ceilings: &Ceilings) -> f64 {
        match self.workload.moves {
            Moves::Reads => ceilings.read,
            Moves::Writes => ceilings.stream.max(ceilings.copy),
            Moves::InCache => ceilings.cached,
        }
    }

    fn speed(&self, ceilings: &Ceilings) -> f64 {
        match self.workload.numbers {
            Numbers::F32 => ceilings.fma,
            Numbers::F64 => ceilings.fma / 2.0,
        }
    }

    /// How many times faster one variant is than another.
    pub fn ratio(&self, ours: &str, theirs: &str) -> f64 {
        self.median(theirs) / self.median(ours)
    }

    /// The most bytes that a variant held at once.
    pub fn peak(&self, variant: &str) -> f64 {
        self.peaks.get(variant).copied().unwrap_or(f64::NAN)
    }

    /// Pairs of ours and a rival where ours holds more than the rival and 5%, beside its context.
    pub fn holds_more(&self) -> Vec<(&'static str, &'static str)> {
        let pairs = match self.kind {
            Kind::C => vec![("almach", "tuned"), ("almach-seq", "plain")],
            Kind::Thesis => vec![("almach-seq", self.better_cpp())],
        };
        let more = |(ours, rival): &(&str, &str)| self.peak(ours) > 1.05 * self.peak(rival) + CONTEXT_BYTES;
        pairs.into_iter().filter(more).collect()
    }

    /// The compiler whose C++ is faster.
    pub fn better_cpp(&self) -> &'static str {
        match self.median("c++-gcc") <= self.median("c++-clang") {
            true => "c++-gcc",
            false => "c++-clang",
        }
    }

    /// The least time the machine could need.
    pub fn floor(&self, ceilings: &Ceilings) -> f64 {
        (self.bytes / self.bandwidth(ceilings)).max(self.flops / self.speed(ceilings))
    }
}

pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match (sorted.get(middle), sorted.len() % 2) {
        (Some(value), 1) => *value,
        (Some(upper), _) => (upper + sorted.get(middle.wrapping_sub(1)).unwrap_or(upper)) / 2.0,
        (None, _) => f64::NAN,
    }
}

impl Ceilings {
    pub fn measure(tools: &Tools, seconds: f64) -> Result<Ceilings, String> {
        let binary = tools.compile("rivals", "ceilings", &[])?;
        let large = tools.times(&binary, SIZE_OF_CEILINGS, seconds)?;
        let small = tools.times(&binary, SIZE_IN_CACHE, seconds)?;
        let best = |times: &BTreeMap<String, Vec<f64>>, name: &str| {
            let values = times.get(name).map_or(&[][..], |values| values);
            values.iter().copied().fold(f64::INFINITY, f64::min)
        };
        let bytes = |count: u64| 4.0 * count as f64;
        Ok(Ceilings {
            read: bytes(SIZE_OF_CEILINGS) / best(&large, "read"),
            copy: 2.0 * bytes(SIZE_OF_CEILINGS) / best(&large, "copy"),
            stream: 2.0 * bytes(SIZE_OF_CEILINGS) / best(&large, "stream"),
            cached: 2.0 * bytes(SIZE_IN_CACHE) / best(&small, "copy"),
            fma: best(&large, "flops") / best(&large, "fma"),
        })
    }
}

impl fmt::Display for Ceilings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "this machine: read {:.1} GB/s, copy {:.1} GB/s, copy past the cache {:.1} GB/s, within the cache {:.0} GB/s, {:.0} GFLOP/s (f32)",
            self.read, self.copy, self.stream, self.cached, self.fma
        )
    }
}
