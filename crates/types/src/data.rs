//! Declarations of data types and of foreign functions.

use crate::annotate::{Blank, Reading};
use crate::checker::Checker;
use crate::dependencies::components;
use crate::parts::node_fields_at;
use crate::scheme::{PolyType, substitute};
use crate::solver::{Replaced, map_type, walk_type};
use crate::tree::{Constructor, DataId, Dim, ForeignDef, Recursive, Scheme, Type, TypeVar};
use almach_base::codes::{names as name_codes, types as codes};
use almach_base::{Diagnostic, Name, Span};
use almach_syntax::ast;
use std::collections::HashMap;

impl<'a> Checker<'a> {
    /// How many parameters each type has, which aliases and other types need to know.
    pub fn declare_parameters(&mut self, decls: &[(DataId, &'a ast::DataDecl)]) {
        for (id, decl) in decls {
            let mut params: Vec<TypeVar> = Vec::new();
            for param in &decl.params {
                if params.iter().any(|other| other.name == param.name) {
                    self.report(
                        Diagnostic::error(
                            name_codes::DUPLICATE_BINDING,
                            param.span,
                            format!("the type variable `'{}` is listed twice", param.name),
                        )
                        .label("again here"),
                    );
                }
                params.push(self.solver.fresh_rigid(param.name.clone(), param.span));
            }
            if let Some(def) = self.data.get_mut(id.0 as usize) {
                def.params = params;
            }
        }
    }

    pub fn check_data(&mut self, decls: &[(DataId, &'a ast::DataDecl)]) {
        for (id, decl) in decls {
            let constructors = self.read_constructors(*id, decl);
            if let Some(def) = self.data.get_mut(id.0 as usize) {
                def.constructors = constructors;
            }
        }
        self.find_recursive(decls);
    }

    fn read_constructors(&mut self, id: DataId, decl: &ast::DataDecl) -> Vec<Constructor> {
        let names: HashMap<Name, TypeVar> = self
            .data_def(id)
            .map(|def| {
                def.params
                    .iter()
                    .map(|var| (var.name.clone(), var.clone()))
                    .collect()
            })
            .unwrap_or_default();
        self.type_names = names;
        let mut constructors = Vec::new();
        for constructor in &decl.constructors {
            let mut fields = Vec::new();
            for field in &constructor.fields {
                let ty = self.read_type(field, &mut Reading::strict(Blank::Unknown));
                self.no_functions(&ty, field.span, "a field of a sum");
                fields.push(self.field_type(&ty));
            }
            constructors.push(Constructor {
                name: constructor.name.name.clone(),
                fields,
                span: constructor.span,
            });
        }
        self.type_names.clear();
        constructors
    }

    /// Every value has its own size in a field, unless it is a literal.
    fn field_type(&self, ty: &Type) -> Type {
        map_type(ty, &mut |_| Replaced::Descend, &mut |dim, _| match dim {
            Dim::Size(size) if size.as_constant().is_some() => dim.clone(),
            _ => Dim::Unknown,
        })
    }

    /// Functions may not be stored in arrays and sums (design, section 3).
    pub fn no_functions(&mut self, ty: &Type, span: Span, place: &str) -> bool {
        let mut found = false;
        walk_type(&self.solver.resolve(ty), &mut |part| {
            found |= matches!(part, Type::Function(_));
        });
        if found {
            let shown = self.show(ty);
            self.report(
                Diagnostic::error(
                    codes::FUNCTION_STORED,
                    span,
                    format!("{place} cannot hold a function: `{shown}`"),
                )
                .label("a function here")
                .help(
                    "functions may sit in tuples and records; elsewhere store what the function depends on",
                ),
            );
        }
        !found
    }

    fn find_recursive(&mut self, decls: &[(DataId, &'a ast::DataDecl)]) {
        let position: HashMap<DataId, usize> =
            decls.iter().enumerate().map(|(at, (id, _))| (*id, at)).collect();
        let edges: Vec<Vec<usize>> = decls
            .iter()
            .map(|(id, _)| {
                let mut used = Vec::new();
                for field in self
                    .data_def(*id)
                    .iter()
                    .flat_map(|def| def.constructors.iter().flat_map(|c| &c.fields))
                {
                    walk_type(field, &mut |part| {
                        if let Type::Data(other, _) = part
                            && let Some(at) = position.get(other)
                        {
                            used.push(*at);
                        }
                    });
                }
                used
            })
            .collect();
        for group in components(&edges) {
            for member in group.members {
                if group.cyclic
                    && let Some((id, _)) = decls.get(member)
                    && let Some(def) = self.data.get_mut(id.0 as usize)
                {
                    def.recursive = Recursive::Yes;
                }
            }
        }
    }

    /// The types of a constructor's fields at type arguments; in a node value the data type itself is `reference`.
    pub fn field_types(&self, data: DataId, at: u32, args: &[Type], reference: Option<&Type>) -> Vec<Type> {
        let Some(def) = self.data_def(data) else {
            return Vec::new();
        };
        let Some(constructor) = def.constructors.get(at as usize) else {
            return Vec::new();
        };
        let types: HashMap<u32, Type> = def
            .params
            .iter()
            .zip(args)
            .map(|(var, arg)| (var.id, arg.clone()))
            .collect();
        match reference {
            Some(reference) => node_fields_at(&self.data, data, at, &types, reference),
            None => {
                let fields = constructor.fields.iter();
                fields
                    .map(|field| substitute(field, &types, &HashMap::new()))
                    .collect()
            }
        }
    }

    pub fn check_foreign(&mut self, decls: &[&'a ast::Foreign]) {
        for decl in decls {
            let (def, poly) = self.read_foreign(decl);
            self.foreign.push((def, poly));
        }
    }

    fn read_foreign(&mut self, decl: &ast::Foreign) -> (ForeignDef, PolyType) {
        self.type_names.clear();
        let mut reading = Reading::strict(Blank::Named);
        reading.free_sizes = Some(HashMap::new());
        let ty = self.read_foreign_type(&decl.ty, &mut reading);
        let mut sizes: Vec<_> = reading
            .free_sizes
            .into_iter()
            .flatten()
            .map(|(_, var)| var)
            .collect();
        sizes.extend(reading.made_sizes);
        sizes.sort_unstable();
        let scheme = Scheme {
            types: Vec::new(),
            sizes: sizes.clone(),
        };
        let def = ForeignDef {
            name: decl.name.name.clone(),
            sizes,
            ty: ty.clone(),
            span: decl.span,
        };
        (def, PolyType::new(scheme, ty))
    }

    /// `[]` is a size of its own in parameters and an unknown one in the result.
    fn read_foreign_type(&mut self, ty: &ast::TypeExpr, reading: &mut Reading) -> Type {
        match &ty.kind {
            ast::TypeKind::Function { param, .. } => {
                if let ast::TypeKind::Function { .. } = &param.kind {
                    self.report(
                        Diagnostic::error(
                            codes::FOREIGN_TYPE,
                            param.span,
                            "a foreign function cannot take a function",
                        )
                        .label("a function type")
                        .help("pass data; call the function in Almach before or after"),
                    );
                }
                self.read_foreign_function(ty, reading)
            }
            _ => {
                let blank = std::mem::replace(&mut reading.blank, Blank::Unknown);
                let read = self.read_type(ty, reading);
                reading.blank = blank;
                read
            }
        }
    }

    fn read_foreign_function(&mut self, ty: &ast::TypeExpr, reading: &mut Reading) -> Type {
        let ast::TypeKind::Function {
            param_name,
            param,
            result,
        } = &ty.kind
        else {
            return self.read_type(ty, reading);
        };
        let param_type = self.read_type(param, reading);
        let mark = self.trail.len();
        let binder = param_name.as_ref().map(|ident| {
            let var = self.program_var(&ident.name, ident.span);
            self.bind_local(
                ident.name.clone(),
                crate::names::Local::Value {
                    var: var.clone(),
                    ty: param_type.clone(),
                },
            );
            var
        });
        let result = self.read_foreign_type(result, reading);
        self.unbind_to(mark);
        Type::Function(Box::new(crate::tree::FunctionType {
            binder: binder.filter(|var| crate::annotate::mentions_size(&result, var)),
            param: param_type,
            result,
        }))
    }
}
