//! The library as its users see it.
#![allow(clippy::unwrap_used)]

use almach::build::{self, Module, Operator, Pattern, Sizes, Ty, call, int, lambda, var};
use almach::{Machine, Outside, Program, ScalarType, Settings, Stage, Target, Type, Value};

fn targets(program: &Program) -> Vec<Machine> {
    let compiled = [Target::C, Target::OpenMp].map(|target| program.compile(&Settings::new(target)).unwrap());
    let mut machines = vec![program.interpreter().unwrap()];
    machines.extend(compiled);
    machines
}

#[test]
fn values_of_every_shape_go_in_and_out() {
    let program = Program::almach(
        "entry rows (m: [][]f32): []f32 = map sum m\n\
         entry lengths (j: [][?]i32): []i64 = map length j\n\
         entry swap (xs: [](i32, bool)): [](bool, i32) = map (\\(x, b) -> (b, x)) xs\n\
         entry both (x: i8) (y: u64): (u64, i8) = (y, x)\n\
         entry jag (xs: []i64): [][?]i64 = map iota xs\n\
         entry text (t: []u8): i64 = length t\n",
    )
    .unwrap();
    for machine in targets(&program) {
        let matrix = Value::matrix(2, 3, vec![1f32, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        assert_eq!(matrix.dimensions(), [Some(2), Some(3)]);
        let rows = machine.call("rows", &[matrix]).unwrap();
        assert_eq!(rows.slice::<f32>(), Some(&[6.0, 15.0][..]));
        let jagged = Value::from([1, 2, 3]).jagged(&[2, 0, 1]).unwrap();
        assert_eq!(
            machine.call("lengths", &[jagged]).unwrap(),
            Value::from([2i64, 0, 1])
        );
        let pairs = Value::zip([Value::from([1, 2]), Value::from([true, false])]).unwrap();
        let swapped = machine.call("swap", &[pairs]).unwrap();
        assert_eq!(
            swapped.component(0).unwrap().slice::<bool>(),
            Some(&[true, false][..])
        );
        assert_eq!(swapped.element(1), Some(Value::tuple([false.into(), 2.into()])));
        let both = machine.call("both", &[(-3i8).into(), u64::MAX.into()]).unwrap();
        assert_eq!(both.component(0).unwrap().scalar::<u64>(), Some(u64::MAX));
        assert_eq!(both.component(1).unwrap().scalar::<i8>(), Some(-3));
        let jag = machine.call("jag", &[Value::from([2i64, 0, 1])]).unwrap();
        assert_eq!(
            (jag.dimensions(), jag.slice::<i64>()),
            (vec![Some(3), None], Some(&[0, 1, 0][..]))
        );
        assert_eq!(
            machine.call("text", &["héllo".into()]).unwrap().scalar::<i64>(),
            Some(6)
        );
        assert!(Value::matrix(2, 2, vec![1, 2, 3]).is_err());
    }
}

#[test]
fn what_is_wrong_comes_back_with_its_place() {
    let wrong = Program::almach("def f (x: i32) = x\n\nentry main (y: f32): i32 = f y\n").unwrap_err();
    let problems: Vec<_> = wrong.problems().collect();
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].line_and_column(), Some((3, 30)));
    assert_eq!(problems[0].place(), Some(("program.alm", 49..50)));
    assert!(wrong.to_string().contains("program.alm:3:30"), "{wrong}");
    let program = Program::almach("entry main (xs: []i32) (i: i64): i32 = xs[i]\n").unwrap();
    for machine in targets(&program) {
        let failed = machine
            .call("main", &[Value::from([1, 2]), 2i64.into()])
            .unwrap_err();
        assert_eq!(failed.problems().next().unwrap().line_and_column(), Some((1, 40)));
        for args in [&[][..], &[Value::from([1.5f64]), 0i64.into()]] {
            assert!(machine.call("main", args).is_err());
        }
        assert!(machine.call("other", &[]).is_err());
        assert_eq!(
            machine
                .call("main", &[Value::from([1, 2]), 1i64.into()])
                .unwrap()
                .scalar(),
            Some(2)
        );
    }
}

#[test]
fn many_threads_compile_and_call() {
    let program = Program::almach("entry main (xs: []i64): i64 = sum (map (* 2) xs)").unwrap();
    let machine = program
        .compile(&Settings::new(Target::OpenMp).threads(2))
        .unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8i64 {
            let (program, machine) = (&program, &machine);
            scope.spawn(move || {
                let own = program.interpreter().unwrap();
                for n in 0..20 {
                    let xs: Vec<i64> = (0..100 * n).map(|i| i * thread).collect();
                    let expected = 2 * xs.iter().sum::<i64>();
                    assert_eq!(
                        machine.call("main", &[xs.clone().into()]).unwrap().scalar(),
                        Some(expected)
                    );
                    if n < 3 {
                        assert_eq!(own.call("main", &[xs.into()]).unwrap().scalar(), Some(expected));
                    }
                }
            });
        }
    });
}

#[test]
fn every_stage_can_be_seen_and_every_pass_left_out() {
    let program = Program::nova("((X : vector int)) (reduce + 0 (map (* 3) X))").unwrap();
    let settings = Settings::new(Target::C);
    let stages = [
        Stage::Core,
        Stage::Strategy,
        Stage::Dpia,
        Stage::Loops,
        Stage::Imp,
        Stage::C,
    ];
    for stage in stages {
        assert!(!program.stage(stage, &settings).unwrap().is_empty(), "{stage:?}");
    }
    let none = almach::passes().fold(settings, |settings, (name, _)| settings.without(name).unwrap());
    let machine = program.compile(&none).unwrap();
    assert_eq!(
        machine.call("main", &[Value::from([1, 2])]).unwrap().scalar(),
        Some(9)
    );
    assert!(Settings::new(Target::C).without("nonsense").is_err());
    assert_eq!(program.signatures()[0].text, "main [n] : [n]i32 -> i32");
    assert_eq!(program.warnings().problems().count(), 0);
}

struct Host(Vec<String>);

impl Outside for Host {
    fn trace(&mut self, label: &str, value: &Value, ty: &Type) {
        self.0.push(format!("{label}: {}", ty.show(value).unwrap()));
    }

    fn foreign(&mut self, name: &str, args: &[Value]) -> Result<Value, String> {
        let xs = args[0].slice::<f64>().ok_or("not floats")?;
        match name {
            "doubled" => Ok(xs.iter().map(|x| 2.0 * x).collect::<Vec<_>>().into()),
            "shorter" => Ok(Value::from(&xs[1..])),
            _ => Err("never heard of it".to_owned()),
        }
    }
}

#[test]
fn foreign_functions_and_traces_are_the_callers() {
    let text = |name: &str| {
        format!(
            "foreign {name} : [n]f64 -> [n]f64\n\
             entry main (xs: []f64): []f64 = map (\\x -> trace \"x\" (x + 1)) ({name} xs)\n"
        )
    };
    let run = |name: &str| {
        let program = Program::almach(&text(name)).unwrap();
        let mut host = Host(Vec::new());
        let xs = [Value::from([1f64, 2.0])];
        (
            program.interpreter().unwrap().call_with("main", &xs, &mut host),
            host.0,
        )
    };
    let (value, traces) = run("doubled");
    assert_eq!(value.unwrap(), Value::from([3f64, 5.0]));
    assert_eq!(traces, ["x: 3.0", "x: 5.0"]);
    assert!(
        run("shorter")
            .0
            .unwrap_err()
            .to_string()
            .contains("not of its type")
    );
    assert!(
        run("missing")
            .0
            .unwrap_err()
            .to_string()
            .contains("never heard of it")
    );
}

#[test]
fn recursions_have_a_limit_that_can_be_set() {
    let text =
        "def rec f (n: i64): i64 = if n == 0 then 0 else 1 + f (n - 1)\nentry main (n: i64): i64 = f n\n";
    let program = Program::almach(text).unwrap();
    let limited = [
        program.interpreter().unwrap().with_max_depth(100),
        program.compile(&Settings::new(Target::C).max_depth(100)).unwrap(),
    ];
    for machine in limited {
        assert_eq!(
            machine.call("main", &[50i64.into()]).unwrap().scalar(),
            Some(50i64)
        );
        assert_eq!(
            machine.call("main", &[500i64.into()]).unwrap_err().code(),
            "E0813"
        );
    }
}

/// All forms of expressions, built.
#[test]
fn programs_are_built_without_text() {
    let i64s = |value: i64| int(value, ScalarType::I64);
    let tree = || Ty::named("Tree", [Ty::I64]);
    let total = build::case(
        var("t"),
        [
            (Pattern::constructor("Leaf", [""; 0]), i64s(0)),
            (
                Pattern::constructor("Node", ["l", "x", "r"]),
                call("total", [var("l")]) + var("x") + call("total", [var("r")]),
            ),
        ],
    );
    let grown = build::loop_for(
        "t",
        build::constructor("Leaf"),
        "i",
        var("n"),
        build::apply(
            build::constructor("Node"),
            [var("t"), var("i") * var("i"), build::constructor("Leaf")],
        ),
    );
    let program = Module::new("trees")
        .data(
            "Tree",
            &["a"],
            [
                ("Leaf", Vec::new()),
                (
                    "Node",
                    vec![
                        Ty::named("Tree", [Ty::var("a")]),
                        Ty::var("a"),
                        Ty::named("Tree", [Ty::var("a")]),
                    ],
                ),
            ],
        )
        .def_rec("total", [("t", tree())], Some(Ty::I64), total)
        .entry("main", [("n", Ty::I64)], Ty::I64, call("total", [grown]))
        .entry(
            "halves",
            [("x", Ty::F64)],
            Ty::tuple([Ty::F64, Ty::BOOL]),
            build::let_(
                "y",
                build::loop_while(
                    "y",
                    var("x"),
                    var("y").binary(Operator::Greater, build::float(1.0, ScalarType::F64)),
                    var("y") / build::float(2.0, ScalarType::F64),
                ),
                build::tuple([
                    -var("y"),
                    build::if_(
                        build::boolean(true),
                        !build::boolean(false),
                        build::boolean(false),
                    ),
                ]),
            ),
        )
        .entry(
            "middle",
            [("xs", Ty::sized("n", Ty::I32))],
            Ty::jagged(Ty::I32),
            build::assert(
                var("n").binary(Operator::GreaterEqual, i64s(2)),
                "too short",
                build::select(var("xs"), Some(i64s(1)), Some(var("n") - i64s(1))),
            ),
        )
        .finish()
        .unwrap();
    for machine in targets(&program) {
        assert_eq!(
            machine.call("main", &[5i64.into()]).unwrap().scalar(),
            Some(30i64)
        );
        let halves = machine.call("halves", &[5f64.into()]).unwrap();
        assert_eq!(halves, Value::tuple([(-0.625f64).into(), true.into()]));
        let middle = machine.call("middle", &[Value::from([1, 2, 3, 4])]).unwrap();
        assert_eq!(middle, Value::from([2, 3]));
        assert!(
            machine
                .call("middle", &[Value::from([1])])
                .unwrap_err()
                .to_string()
                .contains("too short")
        );
    }
}

#[test]
fn built_programs_point_into_what_they_were_built_from() {
    let source = "add(x, y)";
    let module = |sizes: Sizes| {
        let sum = call(
            "map",
            [
                build::operator(Operator::Add),
                var("x").at(4..5),
                var("y").at(7..8),
            ],
        );
        Module::new("sum.txt").source(source).sizes(sizes).entry(
            "main",
            [("x", Ty::array(Ty::I32)), ("y", Ty::array(Ty::I32))],
            Ty::jagged(Ty::I32),
            call(
                "filter",
                [
                    lambda(["v"], var("v").binary(Operator::Greater, int(0, ScalarType::I32))),
                    sum.at(0..9),
                ],
            ),
        )
    };
    let program = module(Sizes::WhenRun).finish().unwrap();
    let failed = program.interpreter().unwrap();
    let failed = failed
        .call("main", &[Value::from([1]), Value::from([1, 2])])
        .unwrap_err();
    assert!(!failed.to_string().is_empty());
    // A place outside of the text is moved into it.
    let wrong = Module::new("bad.txt")
        .source("é")
        .entry("main", [""; 0], Ty::I32, var("nothing").at(1..700));
    let errors = wrong.finish().unwrap_err();
    assert_eq!(errors.problems().next().unwrap().place(), Some(("bad.txt", 0..2)));
    assert!(errors.to_string().contains("nothing"), "{errors}");
}
