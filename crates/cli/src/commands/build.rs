//! `almach build FILE -o NAME`: a header, a source and a shared library for anybody's program.

use crate::failure::{Outcome, complaint};
use crate::files;
use crate::links;
use crate::machine::Checks;
use crate::options::BuildOptions;
use crate::program::Program;
use crate::terminal::{self, Style};
use almach_base::Diagnostic;
use almach_base::codes::cli as codes;
use almach_core::check::Checked;
use almach_core::{Entry, Program as Core};
use almach_driver::back::{self, Form, Target};
use almach_native::{Toolchain, kernel_text};
use std::path::{Path, PathBuf};

pub fn run(options: &BuildOptions, style: Style) -> Outcome {
    let program = match Program::open(&options.file, style) {
        Ok(program) => program,
        Err(outcome) => return outcome,
    };
    let core = match program.core(style) {
        Ok(core) => core,
        Err(outcome) => return outcome,
    };
    match build(&program, core, options) {
        Ok(paths) => {
            for path in paths {
                terminal::say(&path.display().to_string());
            }
            Outcome::Done
        }
        Err(diagnostics) => program.report(&diagnostics, style),
    }
}

fn build(
    program: &Program,
    core: Checked<Core>,
    options: &BuildOptions,
) -> Result<Vec<PathBuf>, Vec<Diagnostic>> {
    let Some(target) = options.backend.target() else {
        return Err(vec![
            complaint(codes::BAD_OPTION, "the interpreter builds nothing")
                .help("use --backend c, openmp, opencl or cuda"),
        ]);
    };
    if core.entries.is_empty() {
        return Err(vec![
            complaint(codes::NO_ENTRY, "the program has no entry point")
                .help("write `entry` instead of `def` in front of the definitions to export"),
        ]);
    }
    let form = match options.output.extension().is_some_and(|ending| ending == "cu") {
        true if target != Target::Cuda => {
            let problem = complaint(codes::BAD_OPTION, "a source for nvcc is one of --backend cuda");
            return Err(vec![problem.help("write `-o NAME.cu --backend cuda`")]);
        }
        true => Form::Nvcc,
        false => Form::C,
    };
    let rewritten = back::rewritten_without(core, options.passes.without())?;
    let strategy = back::chosen_without(rewritten, back::machine(target), options.passes.without())?;
    let entries: Vec<&Entry> = strategy.entries.iter().collect();
    let lowered = Checks::unless(options.unchecked).apply(back::lowered(&strategy, &entries)?)?;
    let named = match form {
        Form::C => options.output.file_name(),
        Form::Nvcc => options.output.file_stem(),
    };
    let name = named.map_or("program".into(), |name| name.to_string_lossy());
    let one = |diagnostic: Diagnostic| vec![diagnostic];
    let linked = links::all(&options.file, &options.link).map_err(one)?;
    let wanted = back::Emission {
        form,
        kernel_text: &kernel_text(&linked, target).map_err(|problem| vec![*problem])?,
        ..back::Emission::new(&name, target)
    };
    let source = back::c_source_with(&lowered, program.sources(), &wanted)?;
    let folder = options.output.parent().unwrap_or(Path::new(""));
    let header = folder.join(&source.header_name);
    if form == Form::Nvcc {
        files::write(&header, source.header.as_bytes()).map_err(one)?;
        files::write(&options.output, source.source.as_bytes()).map_err(one)?;
        return Ok(vec![header, options.output.clone()]);
    }
    let c_file = options.output.with_extension("c");
    let library = options
        .output
        .with_extension(if cfg!(target_os = "macos") { "dylib" } else { "so" });
    files::write(&header, source.header.as_bytes()).map_err(one)?;
    files::write(&c_file, source.source.as_bytes()).map_err(one)?;
    Toolchain::find()
        .and_then(|toolchain| toolchain.shared_library(&source, target, &linked, &library))
        .map_err(|diagnostic| vec![*diagnostic])?;
    Ok(vec![header, c_file, library])
}
