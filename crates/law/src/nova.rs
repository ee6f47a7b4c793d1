//! Random programs as `.nova` files: what NOVA has no form for is none, everything else is written with the forms it has.
//!
//! | Almach | NOVA |
//! | --- | --- |
//! | `[n]` of a parameter | `(let (n (to_int64 (length xs))) …)`: vectors carry no sizes |
//! | records | tuples |
//! | patterns | names, and components of them |
//! | `loop` | a `mu` that calls itself last |
//! | `(e : t)`, `e :> t` | `((lambda (x : t) : t x) e)` |
//! | `[a, b]` | `(concat (replicate 1 a) (replicate 1 b))` |
//! | levels and effects | nothing |

mod case;
mod expr;
mod types;

use almach_base::{Name, SourceMap};
use almach_syntax::ast::{
    DataDecl, Def, DefKind, Dim, File, Item, PatternKind, Recursive, SizeKind, TypeKind,
};
use almach_syntax::parse_file;
use std::collections::HashMap;
use types::{Place, ty};

/// A program with one entry point in NOVA's syntax.
pub fn in_nova(text: &str) -> Option<String> {
    let mut sources = SourceMap::new();
    let file = sources.add("random.alm", text.to_owned());
    let parsed = parse_file(file, text);
    match parsed.diagnostics.is_empty() {
        true => written(&parsed.file),
        false => None,
    }
}

/// What writes a file.
struct Writer {
    /// How many fields each constructor has.
    constructors: HashMap<Name, usize>,
    /// Names made up so far.
    next: usize,
}

fn written(file: &File) -> Option<String> {
    let mut writer = Writer {
        constructors: HashMap::from([(Name::from("Some"), 1), (Name::from("None"), 0)]),
        next: 0,
    };
    let (mut types, mut foreign, mut defs, mut entry) = (Vec::new(), Vec::new(), Vec::new(), None);
    for item in &file.items {
        match item {
            Item::Data(data) => types.push(writer.data(data)?),
            Item::Foreign(function) => {
                let ty = ty(&function.ty, Place::Outermost)?;
                foreign.push(format!("({} : {ty})", function.name.name));
            }
            Item::Def(def) if def.kind == DefKind::Entry => entry = Some(def),
            Item::Def(def) => defs.push(writer.function(def)?),
            Item::TypeAlias(_) | Item::Import(_) | Item::Error(_) => return None,
        }
    }
    let entry = entry?;
    let mut inputs = Vec::new();
    for param in &entry.params {
        let PatternKind::Ascribed(name, written) = &param.pattern.kind else {
            return None;
        };
        inputs.push(format!(
            "({} : {})",
            types::name(name)?,
            ty(written, Place::Outermost)?
        ));
    }
    let sizes = entry.sizes.iter().map(|size| size_of(entry, &size.name));
    defs.extend(sizes.collect::<Option<Vec<_>>>()?);
    let result = ty(entry.result.as_ref()?, Place::Outermost)?;
    let body = writer.expr(&entry.body)?;
    let body = writer.typed(&result, &body);
    let section = |word: &str, items: &[String]| match items.is_empty() {
        true => String::new(),
        false => format!("({word} {})\n", items.join(" ")),
    };
    let (types, foreign) = (section("types", &types), section("foreign", &foreign));
    let body = match defs.is_empty() {
        true => body,
        false => format!("(let {}\n in {body})", defs.join("\n  ")),
    };
    Some(format!("({})\n{types}{foreign}{body}\n", inputs.join(" ")))
}

impl Writer {
    /// `(Kind : (+ (K0 : unit) (K1 : (int, float))))`.
    fn data(&mut self, data: &DataDecl) -> Option<String> {
        let mut constructors = Vec::new();
        for constructor in &data.constructors {
            let fields: Option<Vec<String>> = constructor
                .fields
                .iter()
                .map(|field| ty(field, Place::Outermost))
                .collect();
            let payload = match fields?.as_slice() {
                [] => "unit".to_owned(),
                // NOVA takes a tuple apart.
                [one] if one.starts_with('(') && one.contains(',') => return None,
                [one] => one.clone(),
                many => format!("({})", many.join(", ")),
            };
            let name = &constructor.name.name;
            self.constructors.insert(name.clone(), constructor.fields.len());
            constructors.push(format!("({name} : {payload})"));
        }
        data.params
            .is_empty()
            .then(|| format!("({} : (+ {}))", data.name.name, constructors.join(" ")))
    }

    /// `(f (lambda …))`, `(f (mu (f : t) (lambda …)))`: a definition of a `let`.
    fn function(&mut self, def: &Def) -> Option<String> {
        let name = &def.name.name;
        let result = def.result.as_ref().map(|result| ty(result, Place::Outermost));
        let result = result.map_or(Some(None), |result| result.map(Some))?;
        let lambda = self.lambda(&def.params, result, &def.body)?;
        Some(match (def.sizes.is_empty(), def.recursive) {
            (false, _) => return None,
            (true, Recursive::No) => format!("({name} {lambda})"),
            (true, Recursive::Yes) => format!("({name} (mu {name} {lambda}))"),
        })
    }
}

/// `(n (to_int64 (length xs)))` for the first parameter whose outer size it is.
fn size_of(entry: &Def, size: &str) -> Option<String> {
    let found = entry.params.iter().find_map(|param| match &param.pattern.kind {
        PatternKind::Ascribed(name, ty) => match &ty.kind {
            TypeKind::Array(Dim::Size(written), _) if written.kind == SizeKind::Var(size.into()) => {
                types::name(name)
            }
            _ => None,
        },
        _ => None,
    })?;
    Some(format!("({size} (to_int64 (length {found})))"))
}
