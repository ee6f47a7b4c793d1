//! The workloads and their sizes. What each computes is said by its `.alm` file; sizes are those of the papers' scale,
//! with in-cache ones (`_s`) beside them.

pub struct Workload {
    pub name: &'static str,
    /// The file under `workloads/`, and under `rivals/` or `thesis/`.
    pub program: &'static str,
    pub size: u64,
    pub kind: Kind,
}

/// What a workload is beside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// C by hand, with threads and on one.
    C,
    /// C++ by hand, on one thread, compiled by g++ and by clang++: the programs of Lin's thesis.
    Thesis,
}

const fn workload(name: &'static str, program: &'static str, size: u64) -> Workload {
    Workload {
        name,
        program,
        size,
        kind: Kind::C,
    }
}

const fn thesis(name: &'static str, program: &'static str, size: u64) -> Workload {
    Workload {
        name,
        program,
        size,
        kind: Kind::Thesis,
    }
}

pub const SUITE: &[Workload] = &[
    workload("scal", "scal", 1 << 25),
    workload("scal_s", "scal", 1 << 16),
    workload("asum", "asum", 1 << 26),
    workload("asum_s", "asum", 1 << 17),
    workload("dot", "dot", 1 << 25),
    workload("dot_s", "dot", 1 << 16),
    workload("norm", "norm", 1 << 26),
    workload("gemv", "gemv", 8192),
    workload("gemv_s", "gemv", 384),
    workload("gridred", "gridred", 8192),
    workload("mm", "mm", 1024),
    workload("mm_s", "mm", 128),
    workload("jacobi2d", "jacobi2d", 4096),
    workload("jacobi2d_s", "jacobi2d", 192),
    workload("3add", "three_add", 1 << 24),
    workload("cross", "cross", 10_000_000),
    workload("jacobi1d", "jacobi1d", 1 << 24),
    workload("seidel2d", "seidel2d", 4096),
    workload("scan", "scan", 1 << 25),
    workload("scan_s", "scan", 1 << 16),
    workload("filter", "filter", 1 << 25),
    workload("filter_s", "filter", 1 << 16),
    workload("histogram", "histogram", 1 << 26),
    workload("transpose", "transpose", 8192),
    workload("bbox", "bbox", 1 << 25),
    workload("dot3", "dot3", 1 << 23),
    workload("sumstats", "sumstats", 1 << 26),
    workload("sumrows", "sumrows", 1 << 20),
    workload("wordcount", "wordcount", 1 << 28),
    workload("blackscholes", "blackscholes", 1 << 23),
    workload("nbody", "nbody", 8192),
    workload("spmv", "spmv", 1 << 20),
    workload("box3x3", "box3x3", 8192),
    workload("mandelbrot", "mandelbrot", 1024),
    workload("kmeans", "kmeans", 1 << 20),
    workload("fft", "fft", 1 << 20),
    workload("nw", "nw", 4096),
    workload("lud", "lud", 1024),
    workload("hotspot", "hotspot", 1024),
    workload("lbm", "lbm", 256),
    workload("listrank", "listrank", 1 << 24),
    workload("listrank_s", "listrank", 1 << 18),
    workload("listsuffix", "listsuffix", 1 << 24),
    workload("listsuffix_s", "listsuffix", 1 << 18),
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
