//! The distribution of times, as the thesis' Figure 7.4 shows it: how many variants took how long, with an estimate of the density,
//! and lines where programs of interest are.

use std::fmt::Write;

/// A line in the picture.
#[derive(Clone, PartialEq, Debug)]
pub struct Reference {
    pub name: String,
    pub seconds: f64,
}

/// Times of variants, in seconds.
pub struct Picture<'a> {
    pub title: &'a str,
    pub seconds: &'a [f64],
    /// Variants that were expected to take too long, and were not run.
    pub too_slow: usize,
    pub references: &'a [Reference],
}

const BINS: usize = 20;

/// Where the bins of a histogram are: times far apart are shown by their orders of magnitude.
struct Axis {
    from: f64,
    to: f64,
    is_logarithmic: bool,
}

impl Axis {
    fn of(picture: &Picture<'_>) -> Option<Axis> {
        let all = || {
            let references = picture.references.iter().map(|reference| reference.seconds);
            picture.seconds.iter().copied().chain(references)
        };
        let (least, most) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
        if !least.is_finite() || least <= 0.0 {
            return None;
        }
        let is_logarithmic = most / least > 8.0;
        // A margin, so that the ends are not on the frame.
        let (from, to) = match is_logarithmic {
            true => (least / 1.1, most * 1.1),
            false => (least - 0.05 * least, most + 0.05 * least),
        };
        Some(Axis {
            from,
            to,
            is_logarithmic,
        })
    }

    /// From 0 to 1.
    fn place(&self, seconds: f64) -> f64 {
        match self.is_logarithmic {
            true => (seconds / self.from).ln() / (self.to / self.from).ln(),
            false => (seconds - self.from) / (self.to - self.from),
        }
    }

    fn seconds(&self, place: f64) -> f64 {
        match self.is_logarithmic {
            true => self.from * (self.to / self.from).powf(place),
            false => self.from + place * (self.to - self.from),
        }
    }

    fn bin(&self, seconds: f64) -> usize {
        ((self.place(seconds) * BINS as f64) as usize).min(BINS - 1)
    }

    fn counts(&self, seconds: &[f64]) -> [usize; BINS] {
        let mut counts = [0; BINS];
        for one in seconds {
            if let Some(count) = counts.get_mut(self.bin(*one)) {
                *count += 1;
            }
        }
        counts
    }
}

/// A time with a unit.
pub fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1e-6 => format!("{:.1} ns", s * 1e9),
        s if s < 1e-3 => format!("{:.2} us", s * 1e6),
        s if s < 1.0 => format!("{:.3} ms", s * 1e3),
        s => format!("{s:.3} s"),
    }
}

impl Picture<'_> {
    /// For a terminal.
    pub fn text(&self) -> String {
        const WIDTH: usize = 50;
        let mut out = format!("{}\n", self.title);
        let Some(axis) = Axis::of(self) else {
            return out;
        };
        let counts = axis.counts(self.seconds);
        let most = counts.iter().copied().max().unwrap_or(1).max(1);
        for (bin, count) in counts.iter().enumerate() {
            let from = axis.seconds(bin as f64 / BINS as f64);
            let length = (count * WIDTH).div_ceil(most);
            let here = self.references.iter().filter(|one| axis.bin(one.seconds) == bin);
            let names: Vec<&str> = here.map(|reference| reference.name.as_str()).collect();
            let marks = match names.is_empty() {
                true => String::new(),
                false => format!("  <- {}", names.join(", ")),
            };
            let bar = "#".repeat(length);
            let number = match count {
                0 => String::new(),
                count => format!(" {count}"),
            };
            let _ = writeln!(out, "{:>12} |{bar}{number}{marks}", time(from));
        }
        if self.too_slow > 0 {
            let _ = writeln!(
                out,
                "{:>12} | {} not run: expected to take too long",
                "", self.too_slow
            );
        }
        out
    }

    /// A drawing that stands alone.
    pub fn svg(&self) -> String {
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" font-size=\"12\">\n",
            WIDTH + 2.0 * MARGIN,
            HEIGHT + 2.0 * MARGIN
        );
        let _ = writeln!(out, "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>");
        let title = escaped(self.title);
        let _ = writeln!(
            out,
            "<text x=\"{MARGIN}\" y=\"24\" font-size=\"14\">{title}</text>"
        );
        if let Some(axis) = Axis::of(self) {
            self.bars(&axis, &mut out);
            self.density(&axis, &mut out);
            self.lines(&axis, &mut out);
            ticks(&axis, &mut out);
        }
        if self.too_slow > 0 {
            let (x, y, count) = (MARGIN + WIDTH, MARGIN - 6.0, self.too_slow);
            let _ = writeln!(
                out,
                "<text x=\"{x}\" y=\"{y}\" text-anchor=\"end\">{count} not run: expected to take too long</text>"
            );
        }
        out.push_str("</svg>\n");
        out
    }

    fn bars(&self, axis: &Axis, out: &mut String) {
        let counts = axis.counts(self.seconds);
        let most = counts.iter().copied().max().unwrap_or(1).max(1) as f64;
        let width = WIDTH / BINS as f64;
        for (bin, count) in counts.iter().enumerate() {
            let height = HEIGHT * *count as f64 / most;
            let _ = writeln!(
                out,
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height:.1}\" fill=\"#9db8d9\"/>",
                MARGIN + bin as f64 * width,
                MARGIN + HEIGHT - height,
                width - 1.0
            );
        }
        let _ = writeln!(out, "<text x=\"8\" y=\"{MARGIN}\">{most}</text>");
    }

    /// An estimate with Gaussian kernels, as wide as Silverman's rule says.
    fn density(&self, axis: &Axis, out: &mut String) {
        let places: Vec<f64> = self.seconds.iter().map(|one| axis.place(*one)).collect();
        let count = places.len() as f64;
        if count < 2.0 {
            return;
        }
        let mean = places.iter().sum::<f64>() / count;
        let deviation = (places.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / count).sqrt();
        let width = (1.06 * deviation * count.powf(-0.2)).max(0.01);
        const STEPS: usize = 180;
        let at = |place: f64| -> f64 {
            let kernels = places
                .iter()
                .map(|one| (-((place - one) / width).powi(2) / 2.0).exp());
            kernels.sum()
        };
        let values: Vec<f64> = (0..=STEPS).map(|step| at(step as f64 / STEPS as f64)).collect();
        let most = values.iter().copied().fold(0.0, f64::max).max(1e-9);
        let points: Vec<String> = values
            .iter()
            .enumerate()
            .map(|(step, value)| {
                let x = MARGIN + WIDTH * step as f64 / STEPS as f64;
                format!("{x:.1},{:.1}", MARGIN + HEIGHT * (1.0 - value / most))
            })
            .collect();
        let points = points.join(" ");
        let _ = writeln!(
            out,
            "<polyline points=\"{points}\" fill=\"none\" stroke=\"#2a5d9f\" stroke-width=\"1.5\"/>"
        );
    }

    fn lines(&self, axis: &Axis, out: &mut String) {
        const COLOURS: [&str; 4] = ["#c0262d", "#2e7d32", "#6a1b9a", "#ef6c00"];
        for ((at, reference), colour) in self.references.iter().enumerate().zip(COLOURS.iter().cycle()) {
            let x = MARGIN + WIDTH * axis.place(reference.seconds);
            let (top, bottom) = (MARGIN, MARGIN + HEIGHT);
            let name = escaped(&format!("{} {}", reference.name, time(reference.seconds)));
            let _ = writeln!(
                out,
                "<line x1=\"{x:.1}\" y1=\"{top}\" x2=\"{x:.1}\" y2=\"{bottom}\" stroke=\"{colour}\" stroke-width=\"1.5\" stroke-dasharray=\"5 4\"/>"
            );
            let y = MARGIN + 14.0 * (at as f64 + 1.0);
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{y}\" fill=\"{colour}\">{name}</text>",
                x + 4.0
            );
        }
    }
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 280.0;
const MARGIN: f64 = 44.0;

fn ticks(axis: &Axis, out: &mut String) {
    let y = MARGIN + HEIGHT;
    let end = MARGIN + WIDTH;
    let _ = writeln!(
        out,
        "<line x1=\"{MARGIN}\" y1=\"{y}\" x2=\"{end}\" y2=\"{y}\" stroke=\"black\"/>"
    );
    for tick in 0..=4 {
        let place = f64::from(tick) / 4.0;
        let x = MARGIN + WIDTH * place;
        let shown = time(axis.seconds(place));
        let _ = writeln!(
            out,
            "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{shown}</text>",
            y + 18.0
        );
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::{Picture, Reference};

    fn picture(seconds: &[f64]) -> (String, String) {
        let references = [Reference {
            name: "default <1>".to_owned(),
            seconds: 0.002,
        }];
        let picture = Picture {
            title: "a & b",
            seconds,
            too_slow: 3,
            references: &references,
        };
        (picture.text(), picture.svg())
    }

    #[test]
    fn every_time_is_in_a_bin_and_the_default_is_marked() {
        let (text, svg) = picture(&[0.001, 0.0011, 0.002, 0.004]);
        let counted: usize = text
            .lines()
            .filter_map(|line| {
                line.split_once('|')?
                    .1
                    .trim_start_matches('#')
                    .split_whitespace()
                    .next()?
                    .parse::<usize>()
                    .ok()
            })
            .sum();
        assert_eq!(counted, 4 + 3, "{text}");
        assert!(text.contains("<- default <1>"), "{text}");
        assert!(
            svg.contains("a &amp; b") && svg.contains("default &lt;1&gt;"),
            "{svg}"
        );
        assert_eq!(svg.matches("<rect").count(), 1 + super::BINS);
    }

    #[test]
    fn times_far_apart_are_shown_by_magnitude() {
        let (text, _) = picture(&[0.000_01, 0.1]);
        assert!(text.contains("us") && text.contains("ms"), "{text}");
    }

    #[test]
    fn nothing_measured_is_no_trouble() {
        let picture = Picture {
            title: "none",
            seconds: &[],
            too_slow: 0,
            references: &[],
        };
        assert_eq!(picture.text(), "none\n");
        assert!(picture.svg().ends_with("</svg>\n"));
    }
}
