//! Where the time went, for `--time`.

use crate::terminal;
use std::time::Instant;

pub struct Times {
    last: Instant,
    laps: Vec<(&'static str, f64)>,
}

impl Times {
    pub fn new() -> Times {
        Times {
            last: Instant::now(),
            laps: Vec::new(),
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
    }
}
