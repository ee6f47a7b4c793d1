//! `--publish`: the table between two marks of the suite's README, with the day and the processor, and the chart beside it.

use crate::measure::{Ceilings, Measured};
use crate::{chart, report, shows};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

const BEGIN: &str = "<!-- results: written by bench/run --publish -->\n";
const END: &str = "<!-- end of results -->\n";

pub fn publish(
    folder: &Path,
    all: &[Measured],
    ceilings: &Ceilings,
    threads: Option<u32>,
) -> Result<(), String> {
    let write = |name: &str, text: String| {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
    };
    let path = folder.join("README.md");
    let readme = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let results = results(all, ceilings, threads);
    let readme = between(&readme, &results)
        .ok_or_else(|| format!("{} has no place for results: {BEGIN}{END}", path.display()))?;
    write("results.svg", chart::draw(all, ceilings))?;
    write("README.md", readme)
}

fn results(all: &[Measured], ceilings: &Ceilings, threads: Option<u32>) -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH);
    let (year, month, day) = date(seconds.map_or(0, |past| past.as_secs() / 86_400));
    let cores = std::thread::available_parallelism().map_or(1, |count| count.get() as u32);
    let summaries = format!("{}\n{}", report::summary(all), shows::lines(all, ceilings));
    let summaries: String = summaries.lines().map(|line| format!("- {line}\n")).collect();
    format!(
        "{year}-{month:02}-{day:02}, {}, {} threads; {ceilings}.\n\n![speed beside tuned OpenMP C](results.svg)\n\n{}{summaries}",
        processor(),
        threads.unwrap_or(cores),
        report::tables(all, ceilings),
    )
}

/// The text with other results between the marks.
fn between(readme: &str, results: &str) -> Option<String> {
    let (before, rest) = readme.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n{results}\n{END}{after}"))
}

fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == "model name").then(|| value.trim().to_owned())
    });
    name.unwrap_or_else(|| "unknown processor".to_owned())
}

/// Year, month and day of a number of days since 1970-01-01, in the Gregorian calendar.
fn date(days: u64) -> (u64, u64, u64) {
    let leap = |year: u64| (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let (mut year, mut left) = (1970, days);
    while left >= 365 + u64::from(leap(year)) {
        left -= 365 + u64::from(leap(year));
        year += 1;
    }
    let lengths = [
        31,
        28 + u64::from(leap(year)),
        31,
        30,
        31,
        30,
        31,
        31,
        30,
        31,
        30,
        31,
    ];
    let mut month = 1;
    for length in lengths {
        if left < length {
            break;
        }
        left -= length;
        month += 1;
    }
    (year, month, left + 1)
}

#[cfg(test)]
mod tests {
    use super::{BEGIN, END, between, date};

    #[test]
    fn days_are_dates() {
        assert_eq!(date(0), (1970, 1, 1));
        assert_eq!(date(59), (1970, 3, 1));
        assert_eq!(date(11_016), (2000, 2, 29));
        assert_eq!(date(20_775), (2026, 11, 18));
    }

    #[test]
    fn results_go_between_the_marks_again_and_again() {
        let readme = format!("a\n{BEGIN}old\n{END}b\n");
        let once = between(&readme, "new").unwrap_or_default();
        assert_eq!(
            once,
            format!("a\n{BEGIN}\nnew\n\n{END}b\n").replace("new\n\n", "new\n")
        );
        assert_eq!(between(&once, "new"), Some(once.clone()));
        assert_eq!(between("no marks", "new"), None);
    }
}
