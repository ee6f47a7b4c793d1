//! Random programs for as long as wanted. Every program that breaks the law is shown, small.
//!
//! ```text
//! almach-law FIRST_SEED SECONDS [interpreters|nova|opencl] [jobs=N] [count=N]
//! almach-law show SEED [COUNT]
//! ```
#![allow(clippy::print_stdout, clippy::print_stderr)]

use almach_law::generate::program;
use almach_law::hunt::{Reach, hunt};
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Compiling is many small trees made and dropped: this takes a quarter off its time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const STACK_BYTES: usize = 1 << 30;
/// Seeds per job: one file of programs.
const JOB: u64 = 50;
/// How often the counts so far are told.
const PROGRESS: Duration = Duration::from_secs(60);
/// A job that takes longer than this hangs.
const JOB_SECONDS: u64 = 600;
/// Failures of one stage that are shown; the others are counted.
const SHOWN: usize = 3;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: u64| args.get(at).and_then(|arg| arg.parse().ok()).unwrap_or(default);
    if args.first().is_some_and(|arg| arg == "job") {
        return job(number(1, 1), number(2, JOB), Reach::among(&args));
    }
    if args.first().is_some_and(|arg| arg == "show") {
        return show(number(1, 1), number(2, 1));
    }
    let setting = |name: &str| {
        let text = args
            .iter()
            .find_map(|arg| arg.strip_prefix(name)?.strip_prefix('='));
        text.and_then(|text| text.parse::<u64>().ok())
    };
    let failures = Foreman {
        first: number(0, 1),
        end: setting("count").map(|count| number(0, 1) + count),
        time: Duration::from_secs(number(1, 60)),
        jobs: setting("jobs").unwrap_or(2) as usize,
        reach: Reach::among(&args),
        start: Instant::now(),
        totals: [0; 7],
        crashes: 0,
        shown: std::collections::HashMap::new(),
    }
    .run();
    std::process::exit(i32::from(failures > 0));
}

/// Prints the programs of some seeds as one file, with the arguments of their runs.
fn show(first: u64, count: u64) {
    for seed in first..first + count {
        let (program, number) = (program(seed), format!("_{seed}"));
        println!("{}", program.numbered(&format!("main{number}"), &number));
        for run in &program.runs_numbered(&number) {
            let args: Vec<String> = run.iter().map(|arg| format!("'{arg}'")).collect();
            println!("-- {}", args.join(" "));
        }
    }
}

/// A range of seeds in this process; the last line are the counts.
fn job(first: u64, count: u64, reach: Reach) {
    let worker = std::thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(move || {
            let found = hunt(first, count, reach, |seed, program, failure| {
                println!(
                    "!{}\nseed {seed}, {}, {:?}\n{}\n{}",
                    failure.stage,
                    failure.stage,
                    failure.kind,
                    program.text(),
                    failure.details
                );
            });
            println!("={found}");
        });
    let done = worker.ok().and_then(|worker| worker.join().ok());
    let _ = std::io::stdout().flush();
    if done.is_none() {
        std::process::exit(101);
    }
}

/// Hands out jobs and collects what they say.
struct Foreman {
    first: u64,
    end: Option<u64>,
    time: Duration,
    jobs: usize,
    reach: Reach,
    start: Instant,
    totals: [u64; 7],
    crashes: usize,
    shown: std::collections::HashMap<String, usize>,
}

struct Job {
    first: u64,
    count: u64,
    child: Child,
    output: std::thread::JoinHandle<String>,
    start: Instant,
}

impl Foreman {
    fn run(mut self) -> u64 {
        let mut next = self.first;
        let mut running: Vec<Job> = Vec::new();
        let mut told = self.start;
        loop {
            let more = match self.end {
                Some(end) => next < end,
                None => self.start.elapsed() < self.time,
            };
            if more && running.len() < self.jobs {
                let count = self.end.map_or(JOB, |end| JOB.min(end - next));
                running.extend(self.start(next, count));
                next += count;
                continue;
            }
            if running.is_empty() {
                break;
            }
            running = self.collect(running);
            if told.elapsed() > PROGRESS {
                eprintln!("{}", self.counts());
                told = Instant::now();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        self.report()
    }

    fn start(&self, first: u64, count: u64) -> Option<Job> {
        let mut command = Command::new(std::env::current_exe().ok()?);
        command.args(["job".to_owned(), first.to_string(), count.to_string()]);
        command.args(self.reach.word());
        // Threads that wait by spinning would take the cores that other jobs compute on.
        command.env("OMP_WAIT_POLICY", "passive");
        let mut child = command.stdout(Stdio::piped()).spawn().ok()?;
        let mut pipe = child.stdout.take()?;
        let output = std::thread::spawn(move || {
            let mut text = Vec::new();
            let _ = pipe.read_to_end(&mut text);
            String::from_utf8_lossy(&text).into_owned()
        });
        Some(Job {
            first,
            count,
            child,
            output,
            start: Instant::now(),
        })
    }

    /// Takes what is done; gives back what still runs.
    fn collect(&mut self, running: Vec<Job>) -> Vec<Job> {
        let mut left = Vec::new();
        for mut job in running {
            match job.child.try_wait() {
                Ok(None) if job.start.elapsed().as_secs() > JOB_SECONDS => {
                    let _ = job.child.kill();
                    let _ = job.child.wait();
                    self.ended_badly(job.first, job.count, "does not end");
                }
                Ok(None) => left.push(job),
                Ok(Some(status)) => {
                    let text = job.output.join().unwrap_or_default();
                    self.read(&text);
                    if !status.success() {
                        self.ended_badly(job.first, job.count, &format!("ended with {status}"));
                    }
                }
                Err(_) => {}
            }
        }
        left
    }

    fn read(&mut self, text: &str) {
        for part in text.split("\n!").map(|part| part.trim_start_matches('!')) {
            let (part, counts) = part.rsplit_once("\n=").unwrap_or((part, ""));
            let counts = match part.strip_prefix('=') {
                Some(counts) => counts,
                None => {
                    self.show(part);
                    counts
                }
            };
            for (total, count) in self.totals.iter_mut().zip(counts.split_whitespace()) {
                *total += count.parse::<u64>().unwrap_or(0);
            }
        }
    }

    fn show(&mut self, failure: &str) {
        let (stage, text) = failure.split_once('\n').unwrap_or((failure, ""));
        let count = self.shown.entry(stage.to_owned()).or_insert(0);
        *count += 1;
        if *count <= SHOWN {
            println!("{text}\n");
        }
    }

    /// Finds the seed that took a process with it.
    fn ended_badly(&mut self, first: u64, count: u64, how: &str) {
        if count == 1 {
            self.crashes += 1;
            println!("seed {first}: {how}\n{}\n", program(first).text());
            return;
        }
        let half = count / 2;
        for (first, count) in [(first, half), (first + half, count - half)] {
            let Some(job) = self.start(first, count) else {
                continue;
            };
            let Job {
                mut child, output, ..
            } = job;
            let status = child.wait();
            self.read(&output.join().unwrap_or_default());
            if let Ok(status) = status
                && !status.success()
            {
                self.ended_badly(first, count, &format!("ended with {status}"));
            }
        }
    }

    fn report(&self) -> u64 {
        println!("{}", self.counts());
        let [.., broken] = self.totals;
        broken + self.crashes as u64
    }

    fn counts(&self) -> String {
        let [programs, lowered, compiled, values, errors, dpia, broken] = self.totals;
        let seconds = self.start.elapsed().as_secs_f64();
        format!(
            "{programs} programs from seed {} in {seconds:.0} s ({:.1} per second): {lowered} lowered, {compiled} compiled, \
             {values} values and {errors} run-time errors agreed ({dpia} runs on Dpia), {broken} broke the law, {} crashed",
            self.first,
            programs as f64 / seconds,
            self.crashes
        )
    }
}
