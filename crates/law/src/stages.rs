//! Programs through every stage, on every set of arguments.
//!
//! | stage | what runs | must agree with |
//! | --- | --- | --- |
//! | nova | Core of the program in NOVA's syntax, where that has all it needs | Core |
//! | core text | Core, printed and parsed again | Core |
//! | rewrite | Core after the rewrites | Core |
//! | strategy, strategy c | the strategy program for threads, for one thread | Core, but where sums round |
//! | source | Imp of the strategy program, printed as source and compiled again | its Imp, up to names and places |
//! | dpia, loops | Dpia after stage I, after stage II | the strategy program, bit for bit, errors too |
//! | imp | Imp, with race detection | the strategy program, bit for bit, errors too |
//! | kernels | Imp for a host with a device, with race detection | the strategy program, bit for bit, errors too |
//! | opencl | kernels on a device, where it is asked for | the strategy program, bit for bit, errors too |
//! | openmp, c | native code, on one thread and on three | its strategy program, bit for bit, errors too |
//!
//! Half of the strategy programs are those that a search would try (`almach-tune`): with effects and tactics drawn at random.
//!
//! Many programs are checked at once, as entries of one file: most of the time of one alone goes into the prelude and the
//! C compiler's start.

use crate::again::{Again, compile_again};
use crate::compile::{Compiled, Settings, compile};
use crate::dpia;
use crate::generate::{Floats, Program, Scale};
use crate::nova::in_nova;
use crate::outside::{self, Outside, declarations};
use almach_base::codes::concreteness::NOT_COMPILED_YET;
use almach_base::{Diagnostic, SourceMap, render};
use almach_core::check::Checked;
use almach_core::interp::Interpreter;
use almach_core::print::{Spans, program_to_string};
use almach_core::{Entry, Program as Core, check as core_check, parse as core_parse};
use almach_driver::back::{self, Target};
use almach_driver::{Front, NativeEntry, NoFiles, front, load};
use almach_imp::interp::{RunError, run_entry_with};
use almach_lower::Lowered;
use almach_tune::{Drawn, Space};
use almach_value::{Extent, Scalar, Value, approximately_equal, parse, print, same};
use std::rc::Rc;

/// How far apart floats may be before lowering: only large ones can be. A loop that sums rounds in every iteration, in another
/// order perhaps: in `f32`, seventeen sums of seventeen differ by 2e-5 at most.
const ROUNDING: f64 = 1e-4;

/// Where and how a program broke the law.
#[derive(Clone, Debug)]
pub struct Failure {
    pub stage: &'static str,
    pub kind: Kind,
    pub details: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The generator's programs are right, so a complaint about one is a mistake of either.
    Refused,
    /// A value, or a failure where there should be none, or none where there should be one.
    Differs,
}

/// How far a program went, and what the interpreter of Core said on each run.
#[derive(Clone, Copy, Default, Debug)]
pub struct Agreement {
    pub values: usize,
    pub failures: usize,
    /// Runs on Dpia's interpreter.
    pub dpia: usize,
    /// 1 where the program was lowered to Imp.
    pub lowered: usize,
    /// 1 where the program was compiled to native code too.
    pub compiled: usize,
}

/// What runs the programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Machines {
    Interpreters,
    /// Interpreters, on the program in NOVA's syntax.
    Nova,
    /// Interpreters and native code, of the programs for threads and for one thread.
    Host(Settings),
    /// The same, of the program for a device as well; and strategy programs as source.
    All(Settings),
    /// All, and the first device that OpenCL finds.
    WithOpenCl(Settings),
}

impl Machines {
    /// How native code is compiled, where there is any.
    fn native(self) -> Option<Settings> {
        match self {
            Machines::Interpreters | Machines::Nova => None,
            Machines::Host(settings) | Machines::All(settings) | Machines::WithOpenCl(settings) => {
                Some(settings)
            }
        }
    }

    /// Whether devices and strategy source are left out.
    fn is_host_alone(self) -> bool {
        matches!(self, Machines::Host(_))
    }
}

/// A value, or the code and text of a run-time error.
pub type Outcome = Result<Value, String>;

/// Runs a program through every stage of these machines.
pub fn check(program: &Program, machines: Machines) -> Result<Agreement, Failure> {
    if machines == Machines::Nova {
        return check_in_nova(program);
    }
    let programs = std::slice::from_ref(program);
    Stages::new(programs, machines)?.compare(program, 0)
}

/// The same for many, each with its own result.
pub fn check_all(programs: &[Program], machines: Machines) -> Vec<Result<Agreement, Failure>> {
    if machines == Machines::Nova {
        return programs.iter().map(check_in_nova).collect();
    }
    match Stages::new(programs, machines) {
        Ok(mut stages) => (0..)
            .zip(programs)
            .map(|(at, program)| stages.compare(program, at))
            .collect(),
        Err(failure) if programs.len() < 2 => vec![Err(failure)],
        // One of them is to blame: in half of the file, too, unless it is for what was drawn for them all.
        Err(failure) => {
            let (left, right) = programs.split_at(programs.len() / 2);
            let mut results = check_all(left, machines);
            results.extend(check_all(right, machines));
            if results.iter().all(Result::is_ok)
                && let Some(first) = results.first_mut()
            {
                *first = Err(failure);
            }
            results
        }
    }
}

/// A program says in NOVA's syntax, where that has all it needs, what it says in Almach's, at every stage.
fn check_in_nova(program: &Program) -> Result<Agreement, Failure> {
    let text = program.text();
    let Some(nova) = in_nova(&text) else {
        return Ok(Agreement::default());
    };
    let checked = || {
        let (_, core) = core_of("random.alm", &text)?;
        let mut stages = Stages::of("random.nova", &nova, vec![MAIN.to_owned()], Machines::Nova)?;
        stages.compare_with(&Interpreted::new(core)?, program)
    };
    checked().map_err(|failure: Failure| Failure {
        details: format!("{}\nin NOVA:\n{nova}", failure.details),
        ..failure
    })
}

/// The entry of a program in a file of its own.
const MAIN: &str = "main";

/// A lowered program and which of its entries it is; none where the back end does not have what it needs.
pub(crate) type LoweredEntry = Option<(Rc<Lowered>, usize)>;

/// Programs at every stage.
struct Stages {
    /// The entry of each.
    names: Vec<String>,
    core: Interpreted,
    reread: Interpreted,
    rewritten: Interpreted,
    strategy: Interpreted,
    strategy_c: Option<Interpreted>,
    lowered: Vec<LoweredEntry>,
    device: Option<Device>,
    /// Strategy programs that were printed as source and compiled again.
    again: Vec<Again>,
    openmp: Option<Compiled>,
    c: Option<Compiled>,
}

/// Programs for a host with a device.
struct Device {
    strategy: Interpreted,
    lowered: Vec<LoweredEntry>,
    /// With kernels.
    placed: Vec<Option<Rc<almach_imp::Checked>>>,
    opencl: Option<Compiled>,
}

struct Interpreted {
    program: Checked<Core>,
    interpreter: Interpreter,
}

impl Interpreted {
    fn new(program: Checked<Core>) -> Result<Interpreted, Failure> {
        let interpreter = Interpreter::new(&program)
            .map_err(|diagnostic| refused("interpret", &[*diagnostic], &SourceMap::new()))?;
        Ok(Interpreted { program, interpreter })
    }

    fn call(&self, entry: &str, values: Vec<Value>) -> Outcome {
        let called = self.interpreter.call_with(entry, values, &mut Outside);
        called.map_err(|error| format!("{}: {}", error.code.0, error.message))
    }

    fn entry(&self, name: &str) -> Result<&Entry, Failure> {
        let mut entries = self.program.entries.iter();
        entries.find(|entry| &*entry.name == name).ok_or_else(|| Failure {
            stage: "elaborate",
            kind: Kind::Refused,
            details: "there is no entry point".to_owned(),
        })
    }
}

fn entry_name(at: usize) -> String {
    format!("main_{at}")
}

fn number(at: usize) -> String {
    format!("_{at}")
}

impl Device {
    fn new(
        front: &Front,
        way: &Way,
        names: &[String],
        machines: Machines,
    ) -> Result<(Device, Again), Failure> {
        let strategy = way.strategy(front, Target::OpenCl)?;
        let lowered = lowered(front, &strategy, names)?;
        let again = compile_again(&strategy, back::machine(Target::OpenCl), &lowered)?;
        let placed = placed(front, &lowered)?;
        let mut opencl = None;
        if let Machines::WithOpenCl(settings) = machines {
            opencl = compile(front, &strategy, &lowered, Target::OpenCl, settings)?;
        }
        let device = Device {
            strategy: Interpreted::new(strategy)?,
            lowered,
            placed,
            opencl,
        };
        Ok((device, again))
    }

    /// The strategy program for a device, and its kernels.
    fn compare(
        &mut self,
        program: &Program,
        at: usize,
        compare: &Comparison<'_>,
        values: &[Value],
        expected: &Outcome,
    ) -> Result<(), Failure> {
        let strategy = self.strategy.call(&compare.entry.name, values.to_vec());
        if program.floats == Floats::Exact {
            compare.rewritten("strategy device", expected, &strategy)?;
        }
        if let (Some(Some((lowered, which))), Some(Some(placed))) =
            (self.lowered.get(at), self.placed.get(at))
            && let Some(interface) = lowered.entries.get(*which)
        {
            let found = run_entry_with(placed, interface, values, &mut Outside);
            compare.lowered("kernels", &strategy, &imp_outcome(found, compare)?)?;
        }
        if let Some(library) = &mut self.opencl
            && let Some(found) = library.call(at, 1, values)
        {
            compare.lowered("opencl", &strategy, &found)?;
        }
        Ok(())
    }
}

/// A text with its Core.
fn core_of(file: &str, text: &str) -> Result<(Front, Checked<Core>), Failure> {
    let front = front(load(file, text, &NoFiles), Vec::new());
    if front.has_errors() {
        return Err(refused("types", &front.diagnostics, &front.sources));
    }
    let core = front
        .core()
        .map_err(|diagnostics| refused("elaborate", &diagnostics, &front.sources))?;
    Ok((front, core))
}

impl Stages {
    fn new(programs: &[Program], machines: Machines) -> Result<Stages, Failure> {
        let text: String = (0..)
            .zip(programs)
            .map(|(at, program)| program.numbered(&entry_name(at), &number(at)))
            .collect();
        let text = [declarations(&text), &text].concat();
        let names = (0..programs.len()).map(entry_name).collect();
        Stages::of("random.alm", &text, names, machines)
    }

    fn of(file: &str, text: &str, names: Vec<String>, machines: Machines) -> Result<Stages, Failure> {
        let (front, core) = core_of(file, text)?;
        let reread = Interpreted::new(reread(&front, &core)?)?;
        let rewritten = back::rewritten(core.clone())
            .map_err(|problems| refused("rewrite", &problems, &front.sources))?;
        let way = Way::of(&front, &core, &rewritten)?;
        let rewritten = Interpreted::new(rewritten)?;
        let strategy = way.strategy(&front, Target::OpenMp)?;
        let lowered = lowered(&front, &strategy, &names)?;
        let (mut device, mut again) = (None, Vec::new());
        if !machines.is_host_alone() {
            again.push(compile_again(&strategy, back::machine(Target::OpenMp), &lowered)?);
            let (made, again_device) = Device::new(&front, &way, &names, machines)?;
            again.push(again_device);
            device = Some(made);
        }
        let (mut openmp, mut c, mut strategy_c) = (None, None, None);
        if let Some(settings) = machines.native() {
            openmp = compile(&front, &strategy, &lowered, Target::OpenMp, settings)?;
            let sequential = way.strategy(&front, Target::C)?;
            let lowered = self::lowered(&front, &sequential, &names)?;
            c = compile(&front, &sequential, &lowered, Target::C, settings)?;
            strategy_c = Some(Interpreted::new(sequential)?);
        }
        Ok(Stages {
            names,
            core: Interpreted::new(core)?,
            reread,
            rewritten,
            strategy: Interpreted::new(strategy)?,
            strategy_c,
            lowered,
            device,
            again,
            openmp,
            c,
        })
    }

    /// Runs one of the programs on all its arguments.
    fn compare(&mut self, program: &Program, at: usize) -> Result<Agreement, Failure> {
        let mut agreement = Agreement {
            lowered: self.lowered.iter().skip(at).take(1).flatten().count(),
            compiled: usize::from(self.openmp.as_ref().is_some_and(|library| library.has(at))),
            ..Agreement::default()
        };
        let name = self.names.get(at).cloned().unwrap_or_default();
        for again in &mut self.again {
            again.agrees(&name)?;
        }
        for args in &program.runs_numbered(&number(at)) {
            let values = values(self.core.entry(&name)?, args)?;
            self.compare_run(program, at, args, values, &mut agreement)?;
        }
        Ok(agreement)
    }

    /// Runs a program that was written anew in another language, which must say what the first one said.
    fn compare_with(&mut self, first: &Interpreted, program: &Program) -> Result<Agreement, Failure> {
        let mut agreement = Agreement {
            lowered: self.lowered.iter().flatten().count(),
            ..Agreement::default()
        };
        for again in &mut self.again {
            again.agrees(MAIN)?;
        }
        for args in &program.runs_numbered("") {
            let entry = first.entry(MAIN)?;
            let values = values(entry, args)?;
            let expected = first.call(MAIN, values.clone());
            let found = self.core.call(MAIN, values.clone());
            let compare = Comparison { entry, args };
            match (&expected, &found) {
                (Ok(left), Ok(right)) if same(left, right) => {}
                // Another operation may be the one that fails.
                (Err(_), Err(_)) => {}
                _ => return Err(compare.differs("nova", &expected, &found)),
            }
            self.compare_run(program, 0, args, values, &mut agreement)?;
        }
        Ok(agreement)
    }

    fn compare_run(
        &mut self,
        program: &Program,
        at: usize,
        args: &[String],
        values: Vec<Value>,
        agreement: &mut Agreement,
    ) -> Result<(), Failure> {
        let name = self.names.get(at).cloned().unwrap_or_default();
        let entry = self.core.entry(&name)?;
        let expected = self.core.call(&name, values.clone());
        match &expected {
            Ok(_) => agreement.values += 1,
            Err(_) => agreement.failures += 1,
        }
        let compare = Comparison { entry, args };
        let reread = self.reread.call(&name, values.clone());
        compare.lowered("core text", &expected, &reread)?;
        let strategy = self.strategy.call(&name, values.clone());
        // Rewrites may group what rounds otherwise.
        if program.floats == Floats::Exact {
            let rewritten = self.rewritten.call(&name, values.clone());
            compare.rewritten("rewrite", &expected, &rewritten)?;
            compare.rewritten("strategy", &expected, &strategy)?;
        }
        if let Some(Some((lowered, which))) = self.lowered.get(at)
            && let Some(interface) = lowered.entries.get(*which)
        {
            if program.scale == Scale::Small || is_small(args) {
                agreement.dpia += self.compare_dpia(&compare, lowered, interface, &values, &strategy)?;
            }
            let found = run_entry_with(&lowered.imp, interface, &values, &mut Outside);
            compare.lowered("imp", &strategy, &imp_outcome(found, &compare)?)?;
        }
        if let Some(device) = &mut self.device {
            device.compare(program, at, &compare, &values, &expected)?;
        }
        for threads in [1, 3] {
            if let Some(library) = &mut self.openmp
                && let Some(found) = library.call(at, threads, &values)
            {
                compare.lowered("openmp", &strategy, &found)?;
            }
        }
        if let (Some(library), Some(strategy_c)) = (&mut self.c, &self.strategy_c)
            && let Some(found) = library.call(at, 1, &values)
        {
            let strategy = strategy_c.call(&name, values);
            if program.floats == Floats::Exact {
                compare.rewritten("strategy c", &expected, &strategy)?;
            }
            compare.lowered("c", &strategy, &found)?;
        }
        Ok(())
    }

    /// Both stages of Dpia; how many of them could run.
    fn compare_dpia(
        &self,
        compare: &Comparison<'_>,
        lowered: &Lowered,
        interface: &NativeEntry,
        values: &[Value],
        expected: &Outcome,
    ) -> Result<usize, Failure> {
        let at = lowered
            .entries
            .iter()
            .position(|entry| entry.name == interface.name);
        let Some(border) = at.and_then(|at| lowered.border.get(at)) else {
            return Ok(0);
        };
        let mut ran = 0;
        for (stage, program) in [("dpia", &lowered.dpia), ("loops", &lowered.loops)] {
            let found = dpia::run_entry(program, &border.function, &border.proc, interface, values);
            let Some(found) = found else {
                continue;
            };
            // It asks nobody for functions of C.
            if let Err(almach_dpia::interp::RunError::Foreign(_)) = found {
                continue;
            }
            ran += 1;
            compare.lowered(stage, expected, &dpia_outcome(stage, found, compare)?)?;
        }
        Ok(ran)
    }
}

/// Whether a program about large arrays has a small one for once.
fn is_small(args: &[String]) -> bool {
    const MOST: usize = 300;
    let mut sizes = args.iter().map(|arg| arg.parse::<usize>());
    sizes.all(|size| size.is_ok_and(|size| size <= MOST))
}

/// Core printed and parsed again.
fn reread(front: &Front, core: &Core) -> Result<Checked<Core>, Failure> {
    let text = program_to_string(core, Spans::Omit);
    let mut sources = SourceMap::new();
    let file = sources.add("random.core", text.clone());
    let program = core_parse::parse_program(&text, file)
        .map_err(|diagnostic| refused("core text", &[*diagnostic], &sources))?;
    core_check::check(program, "parse")
        .map_err(|failure| refused("core text", &[failure.diagnostic], &front.sources))
}

/// How the strategy programs of a file come about: for every other text as usual, else with effects and answers of the strategy that
/// are drawn (`almach-tune`), as a search makes them.
enum Way {
    /// From the program after the rewrites, which all targets share.
    Usual(Checked<Core>),
    Drawn(Drawn),
}

impl Way {
    fn of(front: &Front, core: &Checked<Core>, rewritten: &Checked<Core>) -> Result<Way, Failure> {
        let text = front
            .sources
            .files()
            .last()
            .map_or("", |(_, file)| file.text.as_str());
        let seed = text.bytes().fold(0xcbf2_9ce4_8422_2325, |seed: u64, byte| {
            (seed ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        match seed & 1 << 40 {
            0 => Ok(Way::Usual(rewritten.clone())),
            _ => Space::whole(core.clone(), back::machine(Target::OpenMp))
                .and_then(|space| space.drawn_by(seed))
                .map(Way::Drawn)
                .map_err(|problems| refused("strategy", &problems, &front.sources)),
        }
    }

    /// The strategy program for a target.
    fn strategy(&self, front: &Front, target: Target) -> Result<Checked<Core>, Failure> {
        let machine = back::machine(target);
        let chosen = match self {
            Way::Usual(rewritten) => back::chosen(rewritten.clone(), machine),
            Way::Drawn(drawn) => drawn.strategy(machine),
        };
        chosen.map_err(|problems| refused("strategy", &problems, &front.sources))
    }
}

/// Every entry lowered: all together, or one by one where some cannot be.
fn lowered(front: &Front, strategy: &Checked<Core>, names: &[String]) -> Result<Vec<LoweredEntry>, Failure> {
    let entries: Vec<&Entry> = names
        .iter()
        .filter_map(|name| strategy.entries.iter().find(|entry| *entry.name == **name))
        .collect();
    if let Ok(all) = back::lowered(strategy, &entries) {
        let all = Rc::new(all);
        return Ok((0..names.len()).map(|at| Some((all.clone(), at))).collect());
    }
    let one = |entry: &&Entry| match back::lowered(strategy, &[entry]) {
        Ok(lowered) => Ok(Some((Rc::new(lowered), 0))),
        Err(problems) if problems.iter().all(|one| one.code == NOT_COMPILED_YET) => Ok(None),
        Err(problems) => Err(refused("lower", &problems, &front.sources)),
    };
    entries.iter().map(one).collect()
}

/// The same with kernels.
fn placed(front: &Front, lowered: &[LoweredEntry]) -> Result<Vec<Option<Rc<almach_imp::Checked>>>, Failure> {
    let mut known: Vec<(Rc<Lowered>, Rc<almach_imp::Checked>)> = Vec::new();
    let mut found = Vec::new();
    for entry in lowered {
        let Some((program, _)) = entry else {
            found.push(None);
            continue;
        };
        let same = known.iter().find(|(other, _)| Rc::ptr_eq(other, program));
        let placed = match same {
            Some((_, placed)) => placed.clone(),
            None => Rc::new(
                back::placed(program, Target::OpenCl, outside::SOURCE)
                    .map(|placed| placed.imp)
                    .map_err(|problems| refused("kernels", &problems, &front.sources))?,
            ),
        };
        known.push((program.clone(), placed.clone()));
        found.push(Some(placed));
    }
    Ok(found)
}

pub(crate) fn refused(stage: &'static str, diagnostics: &[Diagnostic], sources: &SourceMap) -> Failure {
    let details = render::to_text(diagnostics, sources, render::Style::Plain);
    Failure {
        stage,
        kind: Kind::Refused,
        details,
    }
}

/// The arguments of a run as values.
fn values(entry: &Entry, args: &[String]) -> Result<Vec<Value>, Failure> {
    let mut values = Vec::new();
    for ((name, ty), arg) in entry.params.iter().zip(args) {
        values.push(parse(arg, ty).map_err(|error| Failure {
            stage: "arguments",
            kind: Kind::Refused,
            details: format!("{name}: {error}"),
        })?);
    }
    Ok(values)
}

fn imp_outcome(found: Result<Value, RunError>, compare: &Comparison<'_>) -> Result<Outcome, Failure> {
    match found {
        Ok(value) => Ok(Ok(value)),
        Err(RunError::Failed { site, arguments }) => {
            let texts: Vec<String> = arguments.iter().map(Scalar::to_string).collect();
            Ok(Err(format!("{}: {}", site.code.0, site.message(&texts))))
        }
        // A race, or an access that no program may make.
        Err(broken) => Err(compare.broken("imp", broken.to_string())),
    }
}

fn dpia_outcome(
    stage: &'static str,
    found: Result<Value, almach_dpia::interp::RunError>,
    compare: &Comparison<'_>,
) -> Result<Outcome, Failure> {
    match found {
        Ok(value) => Ok(Ok(value)),
        Err(almach_dpia::interp::RunError::Failed { site, arguments }) => {
            let texts: Vec<String> = arguments.iter().map(Scalar::to_string).collect();
            let site = almach_imp::Site {
                code: site.code,
                span: site.span,
                text: site.text,
            };
            Ok(Err(format!("{}: {}", site.code.0, site.message(&texts))))
        }
        Err(broken) => Err(compare.broken(stage, broken.to_string())),
    }
}

/// One run of one program.
struct Comparison<'a> {
    entry: &'a Entry,
    args: &'a [String],
}

impl Comparison<'_> {
    /// Code that is not needed for the result may go, and its failures with it (design, section 1).
    fn rewritten(&self, stage: &'static str, expected: &Outcome, found: &Outcome) -> Result<(), Failure> {
        match (expected, found) {
            // A loop may take a sum out of the integers that floats hold exactly.
            (Ok(left), Ok(right)) if same(left, right) || approximately_equal(left, right, ROUNDING) => {
                Ok(())
            }
            (Err(_), _) => Ok(()),
            _ => Err(self.differs(stage, expected, found)),
        }
    }

    /// From the strategy program down everything is the same, the error too.
    fn lowered(&self, stage: &'static str, expected: &Outcome, found: &Outcome) -> Result<(), Failure> {
        match (expected, found) {
            (Ok(left), Ok(right)) if same(left, right) => Ok(()),
            (Err(left), Err(right)) if left == right => Ok(()),
            _ => Err(self.differs(stage, expected, found)),
        }
    }

    fn differs(&self, stage: &'static str, expected: &Outcome, found: &Outcome) -> Failure {
        let show = |outcome: &Outcome| match outcome {
            Ok(value) => print(value, &self.entry.result, Extent::Full),
            Err(error) => format!("fails: {error}"),
        };
        let (expected, found) = (show(expected), show(found));
        self.broken(stage, format!("{found}\nexpected: {expected}"))
    }

    fn broken(&self, stage: &'static str, found: String) -> Failure {
        Failure {
            stage,
            kind: Kind::Differs,
            details: format!("arguments: {}\nfound: {found}", self.args.join(" ")),
        }
    }
}
