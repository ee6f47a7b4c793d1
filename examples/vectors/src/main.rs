//! `almach-vectors FILE ARG…`: compiles a program and runs its `main`; arguments and the result are in Almach's syntax.

use almach::{Settings, Target};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let file = words.next().ok_or("usage: almach-vectors FILE ARG…")?;
    let program = almach_vectors::compile(&file, &std::fs::read_to_string(&file)?)?;
    let entry = program.entry("main").ok_or("there is no `main`")?;
    let read = entry
        .params
        .iter()
        .zip(words)
        .map(|(param, word)| param.ty.read(&word));
    let args = read.collect::<Result<Vec<_>, _>>()?;
    let machine = program.compile(&Settings::new(Target::OpenMp))?;
    let shown = entry.result.show(&machine.call("main", &args)?)?;
    #[expect(clippy::print_stdout, reason = "the result of a command")]
    {
        println!("{shown}");
    }
    Ok(())
}
