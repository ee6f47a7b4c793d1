//! `almach emit --stage …`.

use crate::failure::{Outcome, complaint};
use crate::links;
use crate::options::{EmitOptions, Stage};
use crate::program::{Program, choose_entry};
use crate::terminal::{self, Style};
use almach_base::Diagnostic;
use almach_base::codes::cli as codes;
use almach_core::check::Checked;
use almach_core::print::{Spans, program_to_string};
use almach_core::{Entry, Program as Core};
use almach_driver::back::{self, Form, Target};
use almach_driver::source::source_of;
use almach_mem::annotated_to_string;
use almach_native::kernel_text;

pub fn run(options: &EmitOptions, style: Style) -> Outcome {
    let program = match Program::open(&options.file, style) {
        Ok(program) => program,
        Err(outcome) => return outcome,
    };
    let core = match program.core(style) {
        Ok(core) => core,
        Err(outcome) => return outcome,
    };
    match text(&program, core, options) {
        Ok(text) => {
            terminal::say_raw(&text);
            Outcome::Done
        }
        Err(diagnostics) => program.report(&diagnostics, style),
    }
}

fn text(program: &Program, core: Checked<Core>, options: &EmitOptions) -> Result<String, Vec<Diagnostic>> {
    let target = options.backend.target().unwrap_or(Target::C);
    if options.stage == Stage::Core {
        return Ok(program_to_string(&core, Spans::Omit));
    }
    let rewritten = back::rewritten_without(core, options.passes.without())?;
    let strategy = back::chosen_without(rewritten, back::machine(target), options.passes.without())?;
    if options.stage == Stage::Strategy {
        return Ok(source_of(&strategy));
    }
    if options.stage == Stage::Mem {
        return back::memory(&strategy).map(|program| annotated_to_string(&program));
    }
    let lowered = back::lowered(&strategy, &wanted(&strategy, options)?)?;
    let name = options
        .file
        .file_stem()
        .map_or("program".into(), |stem| stem.to_string_lossy());
    let linked = links::all(&options.file, &options.link).map_err(|problem| vec![problem])?;
    let form = match options.stage {
        Stage::Cu if target != Target::Cuda => {
            let problem = complaint(codes::BAD_OPTION, "the source for nvcc is one of --backend cuda");
            return Err(vec![problem.help("write `--stage cu --backend cuda`")]);
        }
        Stage::Cu => Form::Nvcc,
        _ => Form::C,
    };
    let wanted = back::Emission {
        form,
        kernel_text: &kernel_text(&linked, target).map_err(|problem| vec![*problem])?,
        ..back::Emission::new(&name, target)
    };
    let emitted = || back::c_source_with(&lowered, program.sources(), &wanted);
    Ok(match options.stage {
        Stage::Core | Stage::Strategy | Stage::Mem => String::new(),
        Stage::Dpia => lowered.dpia.program().to_string(),
        Stage::Loops => lowered.loops.program().to_string(),
        Stage::Imp => back::placed(&lowered, target, wanted.kernel_text)?
            .imp
            .program()
            .to_string(),
        Stage::Kernels => emitted()?.kernels,
        Stage::C | Stage::Cu => emitted()?.source,
        Stage::H => emitted()?.header,
    })
}

fn wanted<'a>(core: &'a Core, options: &EmitOptions) -> Result<Vec<&'a Entry>, Vec<Diagnostic>> {
    match &options.entry {
        None if !core.entries.is_empty() => Ok(core.entries.iter().collect()),
        name => choose_entry(core, name.as_deref())
            .map(|entry| vec![entry])
            .map_err(|error| vec![error]),
    }
}
