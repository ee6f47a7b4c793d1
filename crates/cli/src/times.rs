//! Where the time went, for `--time`.

use crate::terminal;
use almach_native::KernelTime;
use std::time::Instant;

pub struct Times {
    last: Instant,
    laps: Vec<(&'static str, f64)>,
    /// What kernels and transfers took of the run.
    pub kernels: Vec<KernelTime>,
}

impl Times {
    pub fn new() -> Times {
        Times {
            last: Instant::now(),
            laps: Vec::new(),
            kernels: Vec::new(),
        }
    }

    /// Ends a lap: what happened since the last one.
    pub fn lap(&mut self, name: &'static str) {
        let now = Instant::now();
        self.laps
            .push((name, now.duration_since(self.last).as_secs_f64() * 1e3));
        self.last = now;
    }

    pub fn report(&self) {
        let total: f64 = self.laps.iter().map(|(_, milliseconds)| milliseconds).sum();
        for (name, milliseconds) in self.laps.iter().chain([&("total", total)]) {
            terminal::complain(&format!("{name:>16}  {milliseconds:10.3} ms"));
        }
        say_kernels(&self.kernels, terminal::complain);
    }
}

/// Each kernel and what one launch of it took.
pub fn say_kernels(kernels: &[KernelTime], say: impl Fn(&str)) {
    for kernel in kernels {
        let each = kernel.seconds * 1e3 / kernel.count.max(1) as f64;
        say(&match kernel.count {
            1 => format!("{:>16}  {each:10.4} ms", kernel.name),
            count => format!(
                "{:>16}  {each:10.4} ms on average, {:.4} ms at least, {count} times",
                kernel.name,
                kernel.least * 1e3
            ),
        });
    }
}
