//! The workloads and their sizes. What each computes is said by its `.alm` file; sizes are those of the papers' scale,
//! with in-cache ones (`_s`) beside them.

pub struct Workload {
    pub name: &'static str,
    /// The file under `workloads/` and `rivals/`.
    pub program: &'static str,
    pub size: u64,
}

const fn workload(name: &'static str, program: &'static str, size: u64) -> Workload {
    Workload { name, program, size }
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
];

/// The workloads of those names, in the order of the suite.
pub fn select(names: &[String]) -> Result<Vec<&'static Workload>, String> {
    if let Some(unknown) = names
        .iter()
        .find(|name| !SUITE.iter().any(|workload| workload.name == **name))
    {
        let known: Vec<&str> = SUITE.iter().map(|workload| workload.name).collect();
        return Err(format!(
            "there is no workload `{unknown}`; there are {}",
            known.join(" ")
        ));
    }
    Ok(SUITE
        .iter()
        .filter(|workload| names.is_empty() || names.iter().any(|name| name == workload.name))
        .collect())
}
