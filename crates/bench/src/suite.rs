//! The workloads and their sizes. What each computes is said by its `.alm` file; sizes are those of the papers' scale,
//! with in-cache ones (`_s`) beside them.

#[derive(Clone, Copy)]
pub struct Workload {
    pub name: &'static str,
    /// The file under `workloads/`, or of the examples where there is none, and under `rivals/` or `thesis/`.
    pub program: &'static str,
    pub size: u64,
    pub kind: Kind,
    pub moves: Moves,
    pub numbers: Numbers,
    pub best: Option<Best>,
}

/// What a workload is beside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// C by hand, with threads and on one.
    C,
    /// C++ by hand, on one thread, compiled by g++ and by clang++: the programs of Lin's thesis.
    Thesis,
}

/// Where the bytes of a workload go, which says how fast they can.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moves {
    /// Nearly all are read.
    Reads,
    /// What is written is no small part.
    Writes,
    /// All fit into the cores' own caches.
    InCache,
}

/// What its operations are on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Numbers {
    F32,
    F64,
}

/// The fastest program anybody has shown for a workload on a machine of this kind.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Best {
    /// Its time as a multiple of the floor that was measured beside it.
    pub floors: f64,
    /// How many times its own multiple ours may be.
    pub within: f64,
}

/// Of streaming workloads, of those that compute, of those in the cache, of products of matrices.
const STREAMING: f64 = 1.15;
const COMPUTING: f64 = 1.25;
const IN_CACHE: f64 = 1.3;
const PRODUCT: f64 = 1.0 / 0.7;

const fn workload(name: &'static str, program: &'static str, size: u64, moves: Moves) -> Workload {
    Workload {
        name,
        program,
        size,
        kind: Kind::C,
        moves,
        numbers: Numbers::F32,
        best: None,
    }
}

const fn thesis(name: &'static str, program: &'static str, size: u64) -> Workload {
    Workload {
        kind: Kind::Thesis,
        ..workload(name, program, size, Moves::Writes)
    }
}

impl Workload {
    const fn best(self, floors: f64, within: f64) -> Workload {
        Workload {
            best: Some(Best { floors, within }),
            ..self
        }
    }

    const fn doubles(self) -> Workload {
        Workload {
            numbers: Numbers::F64,
            ..self
        }
    }
}

use Moves::{InCache, Reads, Writes};

pub const SUITE: &[Workload] = &[
    workload("scal", "scal", 1 << 25, Writes).best(1.09, STREAMING),
    workload("scal_s", "scal", 1 << 16, InCache).best(1.31, IN_CACHE),
    workload("asum", "asum", 1 << 26, Reads).best(0.99, STREAMING),
    workload("asum_s", "asum", 1 << 17, InCache).best(1.29, IN_CACHE),
    workload("dot", "dot", 1 << 25, Reads).best(0.89, STREAMING),
    workload("dot_s", "dot", 1 << 16, InCache).best(1.29, IN_CACHE),
    workload("norm", "norm", 1 << 26, Reads).best(0.99, STREAMING),
    workload("gemv", "gemv", 8192, Reads).best(0.90, STREAMING),
    workload("gemv_s", "gemv", 384, InCache).best(1.28, IN_CACHE),
    workload("gridred", "gridred", 8192, Reads).best(0.86, STREAMING),
    workload("mm", "mm", 1024, Writes).doubles().best(1.34, PRODUCT),
    workload("mm_s", "mm", 128, InCache).doubles().best(2.91, PRODUCT),
    workload("jacobi2d", "jacobi2d", 4096, Writes)
        .doubles()
        .best(1.71, COMPUTING),
    workload("jacobi2d_s", "jacobi2d", 192, InCache)
        .doubles()
        .best(3.51, IN_CACHE),
    workload("3add", "three_add", 1 << 24, Writes)
        .doubles()
        .best(0.98, STREAMING),
    workload("cross", "cross", 10_000_000, Writes)
        .doubles()
        .best(1.08, STREAMING),
    workload("jacobi1d", "jacobi1d", 1 << 24, Writes)
        .doubles()
        .best(1.53, COMPUTING),
    workload("seidel2d", "seidel2d", 4096, Writes)
        .doubles()
        .best(1.91, COMPUTING),
    workload("scan", "scan", 1 << 25, Writes).best(1.32, STREAMING),
    workload("scan_s", "scan", 1 << 16, InCache).best(2.74, IN_CACHE),
    workload("filter", "filter", 1 << 25, Writes).best(1.88, STREAMING),
    workload("filter_s", "filter", 1 << 16, InCache).best(2.88, IN_CACHE),
    workload("histogram", "histogram", 1 << 26, Reads).best(1.87, STREAMING),
    workload("transpose", "transpose", 8192, Writes).best(2.34, STREAMING),
    workload("bbox", "bbox", 1 << 25, Reads).best(1.07, STREAMING),
    workload("dot3", "dot3", 1 << 23, Writes).best(1.29, STREAMING),
    workload("sumstats", "sumstats", 1 << 26, Reads).best(1.25, STREAMING),
    workload("sumrows", "sumrows", 1 << 20, Reads).best(1.34, STREAMING),
    workload("zipfrows", "zipfrows", 1 << 20, Reads),
    workload("onerow", "onerow", 1 << 20, Reads),
    workload("csr", "csr", 1 << 20, Reads),
    workload("bfs", "bfs", 1 << 20, Reads),
    workload("quicksort", "quicksort", 1 << 22, Writes),
    workload("quickhull", "quickhull", 1 << 22, Reads),
    workload("kd_tree", "kd_tree", 1 << 18, Writes),
    workload("word_statistics", "word_statistics", 1 << 26, Reads),
    workload("wordcount", "wordcount", 1 << 28, Reads).best(1.22, STREAMING),
    workload("blackscholes", "blackscholes", 1 << 23, Writes).best(2.95, COMPUTING),
    workload("nbody", "nbody", 8192, InCache).best(2.07, COMPUTING),
    workload("spmv", "spmv", 1 << 20, Reads).best(3.46, COMPUTING),
    workload("box3x3", "box3x3", 8192, Writes).best(1.65, COMPUTING),
    workload("mandelbrot", "mandelbrot", 1024, Writes).best(3.11, COMPUTING),
    workload("kmeans", "kmeans", 1 << 20, Reads),
    workload("fft", "fft", 1 << 20, Writes),
    workload("nw", "nw", 4096, Reads),
    workload("lud", "lud", 1024, Writes),
    workload("hotspot", "hotspot", 1024, Writes),
    workload("lbm", "lbm", 256, Writes),
    workload("listrank", "listrank", 1 << 24, Writes),
    workload("listrank_s", "listrank", 1 << 18, Writes),
    workload("listsuffix", "listsuffix", 1 << 24, Writes).best(106.07, IN_CACHE),
    workload("listsuffix_s", "listsuffix", 1 << 18, InCache).best(46.55, IN_CACHE),
    thesis("thesis-3add", "three_add", 1 << 24),
    thesis("thesis-cross", "cross", 10_000_000),
    thesis("thesis-ba", "bundle_adjustment", 1_000_000),
    thesis("thesis-gmm", "gmm", 5_000),
    thesis("thesis-ht", "hand_tracking", 2_000_000),
    thesis("thesis-mm", "mm", 1024),
    thesis("thesis-2mm", "mm2", 1024),
    thesis("thesis-3mm", "mm3", 1024),
    thesis("thesis-jacobi1d", "jacobi1d", 1 << 24),
    thesis("thesis-jacobi2d", "jacobi2d", 4096),
    thesis("thesis-seidel2d", "seidel2d", 4096),
    thesis("jacobi3d-7", "jacobi3d7", 256),
    thesis("jacobi3d-15", "jacobi3d15", 256),
    thesis("jacobi3d-27", "jacobi3d27", 256),
];

/// Names the programs of Lin's thesis, all together.
const ALL_OF_THESIS: &str = "thesis";

fn is_called(workload: &Workload, name: &str) -> bool {
    workload.name == name || (name == ALL_OF_THESIS && workload.kind == Kind::Thesis)
}

/// The workloads of those names, in the order of the suite.
pub fn select(names: &[String]) -> Result<Vec<&'static Workload>, String> {
    if let Some(unknown) = names
        .iter()
        .find(|name| !SUITE.iter().any(|workload| is_called(workload, name)))
    {
        let known: Vec<&str> = SUITE.iter().map(|workload| workload.name).collect();
        return Err(format!(
            "there is no workload `{unknown}`; there are {ALL_OF_THESIS} (the programs of the thesis) {}",
            known.join(" ")
        ));
    }
    Ok(SUITE
        .iter()
        .filter(|workload| names.is_empty() || names.iter().any(|name| is_called(workload, name)))
        .collect())
}
