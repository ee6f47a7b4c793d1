//! A chart of the ratios, as SVG, on a logarithmic scale around 1: of every workload a bar for its speed beside the best rival, and a mark for
//! what it is of the machine's own.

use crate::measure::{Ceilings, Measured};
use crate::suite::Kind;

const ROW: f64 = 22.0;
const LEFT: f64 = 110.0;
const WIDTH: f64 = 520.0;
/// The scale ends at this ratio and its inverse.
const END: f64 = 8.0;

pub fn draw(all: &[Measured], ceilings: &Ceilings) -> String {
    let height = ROW * (all.len() as f64 + 2.0);
    let total = LEFT + WIDTH + 70.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{total}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <text x=\"{LEFT}\" y=\"14\">speed beside the best rival (bars to the right of 1 are faster), and of what the machine can (marks)</text>\n"
    );
    let one = x(1.0);
    for ratio in [0.25, 0.5, 1.0, 2.0, 4.0] {
        let at = x(ratio);
        svg.push_str(&format!(
            "<line x1=\"{at:.1}\" y1=\"{ROW}\" x2=\"{at:.1}\" y2=\"{:.1}\" stroke=\"{}\"/>\n\
             <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{ratio}</text>\n",
            height - ROW,
            if ratio == 1.0 { "#333" } else { "#ddd" },
            height - 6.0,
        ));
    }
    for (row, measured) in all.iter().enumerate() {
        let ratio = match measured.kind {
            Kind::C => measured.ratio("almach", measured.best_rival()),
            Kind::Thesis => measured.ratio("almach-seq", measured.best_rival()),
        };
        let mark = match measured.kind {
            Kind::C => x(measured.floor(ceilings) / measured.median("almach")),
            Kind::Thesis => x(f64::NAN),
        };
        let (top, end) = (ROW * (row as f64 + 1.0) + 4.0, x(ratio));
        let (from, to) = (one.min(end), one.max(end));
        if measured.kind == Kind::C {
            svg.push_str(&format!(
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"2\" height=\"{:.1}\" fill=\"#333\"/>\n",
                mark - 1.0,
                top - 2.0,
                ROW - 4.0,
            ));
        }
        let colour = if ratio >= 0.95 { "#3a7d44" } else { "#b5483a" };
        svg.push_str(&format!(
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\n\
             <rect x=\"{from:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{colour}\"/>\n\
             <text x=\"{:.1}\" y=\"{:.1}\">{ratio:.2}</text>\n",
            LEFT - 8.0,
            top + 11.0,
            measured.name,
            (to - from).max(1.0),
            ROW - 8.0,
            LEFT + WIDTH + 8.0,
            top + 11.0,
        ));
    }
    svg.push_str("</svg>\n");
    svg
}

fn x(ratio: f64) -> f64 {
    let clamped = if ratio.is_finite() {
        ratio.clamp(1.0 / END, END)
    } else {
        1.0 / END
    };
    LEFT + WIDTH * (clamped.ln() / END.ln() + 1.0) / 2.0
}
