//! `E03xx, W03xx`: types.

codes! {
    TYPE_MISMATCH = "E0301", "two types do not agree", "
An expression has another type than the place it stands in asks for. The message shows both, and where the expected one
came from: an annotation, a parameter, the other operand, the first branch.

Erroneous:

    def f (n: i64): f32 = n * 2

Numbers are converted by the name of the type:

    def f (n: i64): f32 = f32 n * 2
";
    NOT_A_FUNCTION = "E0302", "too many arguments", "
Something is applied to more arguments than it takes, or is not a function at all.

Erroneous:

    def f x = x + 1
    def g y = f y 2

A bracket behind a blank is an argument, one glued to a value an index: `xs [0]` applies `xs`, `xs[0]` indexes it.
";
    CONSTRAINT = "E0303", "a type without the operation that is asked of it", "
Arithmetic works on numbers, `<` on types with an order (not on functions), `<<` on integers, `sqrt` on floats. Operators
work on elements; whole arrays go through `map`.

Erroneous:

    def add [n] (xs: [n]f32) (ys: [n]f32): [n]f32 = xs + ys

Write instead:

    def add [n] (xs: [n]f32) (ys: [n]f32): [n]f32 = map (+) xs ys
";
    INFINITE_TYPE = "E0304", "a type would contain itself", "
Following the uses of a value, its type would have to be a part of itself.

Erroneous:

    def f x = x x

Types that contain themselves are declared with `data`.
";
    ANNOTATION_NEEDED = "E0305", "a type is needed to go on", "
Which field of which record `.x` is, which tuple `.0` takes apart, which recursive type `foreach` walks over: that depends
on the type of the value, and nothing says it.

Erroneous:

    def norm p = sqrt (p.x * p.x + p.y * p.y)

Write instead:

    def norm (p: {x: f64, y: f64}) = sqrt (p.x * p.x + p.y * p.y)
";
    NO_SUCH_FIELD = "E0306", "a record or tuple without such a part", "
The record has no field of that name, or the tuple fewer components. Components are counted from 0.

Erroneous:

    def f (p: (i32, i32)) = p.2

Write instead:

    def f (p: (i32, i32)) = p.1
";
    LITERAL_RANGE = "E0307", "a literal does not fit its type", "
The literal's type cannot hold its value. Without suffix or annotation an integer is an `i32` where nothing else decides.

Erroneous:

    def big = 3000000000

Write instead:

    def big = 3000000000i64
";
    TYPE_ARGUMENTS = "E0308", "wrong number of type arguments", "
A data type or alias with parameters is given exactly one type for each.

Erroneous:

    def f (m: Maybe): i32 = 0

Write instead:

    def f (m: Maybe i32): i32 = 0
";
    STAYS_POLYMORPHIC = "E0321", "an expression of a NOVA program stays polymorphic", "
After inference every expression of a `.nova` program must have a concrete type (NOVA paper, sections 3.1.4 and 3.3): here nothing says
what the type is, such as that of the elements of an empty list that nobody looks at.

    (types (List 'a : (+ (Nil : unit) (Cons : ('a, (List 'a))))))
    (let (empty Nil) in 1)

Use the value where its type is known, or write types on the parameters around it.
";
    FUNCTION_STORED = "E0309", "a function in an array or a sum", "
Functions may be passed, returned, and sit in tuples and records, but not be elements of arrays or fields of sums: no function
is left when the program runs on a GPU.

Erroneous:

    def fs = [sin, cos]

Store what the function depends on, and choose when it is applied:

    def apply k x = if k == 0 then sin x else cos x
";
    ENTRY_TYPE = "E0310", "an entry point whose types are not concrete data", "
An entry point is called from outside, with values from files, the command line or C. Its parameters and its result have
types without variables and without functions.

Erroneous:

    entry main x = x

Write instead:

    entry main (x: f32): f32 = x
";
    REFERENCE_ESCAPES = "E0311", "a node reference leaves its foreach or build", "
Inside `foreach x in e with f, d do …` a node's fields hold references to the old table where the type mentions itself. They can
be looked up with `d` and renamed with `f`, but mean nothing outside, nor in another `foreach`.

Erroneous:

    def g (l: List i32) =
      foreach x in l with f, d do
        case x of
        | #Nil -> #Nil
        | #Cons h t -> #Cons t (f t)

The element of a new cell cannot be the reference `t`; where the type mentions itself, the new node holds `f t`. Write instead:

    def g (l: List i32) =
      foreach x in l with f, d do
        case x of
        | #Nil -> #Nil
        | #Cons h t -> #Cons h (f t)
";
    NOT_RECURSIVE = "E0312", "recursive data or a node value is needed", "
`foreach`, `nodes`, `build` and node values `#C …` are about data types that mention themselves. The body of `foreach`, and the
function of `build`, give node values.

Erroneous:

    def f (l: List i32) = foreach x in l with f, d do 0

Write instead:

    def f (l: List i32) =
      foreach x in l with f, d do
        case x of | #Nil -> #Nil | #Cons h t -> #Cons 0 (f t)
";
    CONSTRUCTOR_ARITY = "E0313", "a pattern with too many or too few fields", "
The pattern of a constructor has one part for each field.

Erroneous:

    def f (m: Maybe i32) = case m of | Some -> 1 | None -> 0

Write instead:

    def f (m: Maybe i32) = case m of | Some _ -> 1 | None -> 0
";
    TYPE_VARIABLE_ESCAPES = "E0314", "a type variable leaves the function it belongs to", "
A type variable of a local function's signature stands for every type, so values of the surrounding function cannot have
it as their type.

Erroneous:

    def f x = let g (y: 'b): 'b = x in g 1

Leave the annotation out, or use the variable in the outer signature too.
";
    FOREIGN_TYPE = "E0315", "a type that cannot be passed to C", "
Foreign functions take and give data of every type; not functions.

Erroneous:

    foreign visit : (i32 -> i32) -> i32 -> i32

Pass data, and apply the function in Almach before or after.
";
    NOT_INDEXABLE = "E0316", "an index on something that has no such dimension", "
Only arrays are indexed, each dimension once.

Erroneous:

    def f [n] (xs: [n]f32) = xs[0, 1]

A bracket glued to a value indexes it; put a blank before a bracket that is an argument.
";
    UNBOUND_TYPE_VARIABLE = "E0317", "a type variable that is not declared", "
The type variables of a `data` or `type` declaration are listed after its name.

Erroneous:

    data Pair = Pair 'a 'a

Write instead:

    data Pair 'a = Pair 'a 'a
";
    PARTIAL_BUILD = "E0318", "build without all its arguments", "
The type of references belongs to one `build`; a `build` that still waits for arguments has no type that could say so.

Erroneous:

    def make = build 3 0

Write instead:

    def make f = build 3 0 (\\i ref -> #Cons (f i) (ref i))
";
    DUPLICATE_FIELD = "E0319", "a field appears twice in a record", "
Every field of a record, and of a record pattern, has a name of its own.

Erroneous:

    def p = {x = 1, x = 2}
";
    VECTOR_TYPE = "E0320", "not a type of short vectors", "
`vec n t` has n = 2, 3, 4, 8 or 16 lanes of a scalar type, and n is a literal.

Erroneous:

    def f [n] (xs: [n]f32) = asVector 5 xs

Write instead:

    def f [n] (xs: [n]f32) = asVector 4 xs
";
}
