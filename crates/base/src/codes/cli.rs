//! `E09xx, W09xx`: the command line, its values and files.

codes! {
    UNREADABLE_FILE = "E0901", "a file cannot be read", "
A file named on the command line, or imported by a program, is missing or may not be read. The message gives the
path as it was looked for and what the system said.

    almach run exmples/dot.alm

Check the spelling; paths are relative to the folder the command runs in, imports to the file they stand in.
";
    UNWRITABLE_FILE = "E0902", "a file cannot be written", "
The result could not be written. Nothing was changed: files are written beside their place and moved there when
they are complete. The disk may be full, or the folder missing or read-only.

    almach run dot.alm '[1]' '[2]' -o missing/out.json
";
    NOT_UTF8 = "E0903", "a source or text file is not UTF-8", "
Almach's source files, and the JSON and text files it reads, are UTF-8. The message says at which byte and line
that stops being true: often the file was saved in an older encoding, or is not a text file at all.

Save it as UTF-8. For binary data use `.npy` or `.npz`.
";
    NO_ENTRY = "E0904", "there is no entry point to run", "
`almach run` calls an entry point: a definition that starts with `entry`. It calls `main`, or the only entry point
there is, or the one named with `--entry`.

    def main (x: f32) = x * 2      -- not an entry point

Write instead:

    entry main (x: f32) = x * 2
";
    AMBIGUOUS_ENTRY = "E0905", "several entry points and none of them is main", "
The program has several entry points, so `almach run` has to be told which one to call:

    almach run program.alm --entry norm '[3, 4]'
";
    ARGUMENT_COUNT = "E0906", "wrong number of arguments for the entry point", "
An entry point needs one argument on the command line for each of its parameters.

    entry main (xs: []f32) (ys: []f32): f32 = …

    almach run dot.alm '[1, 2]'              -- one argument is missing

A shell splits at blanks: put arrays and tuples between quotes.
";
    BAD_ARGUMENT = "E0907", "an argument does not fit its parameter", "
An argument could not be read as a value of the parameter's type. The message names the argument, the type that was
expected, and what was found instead.

    almach run dot.alm '[1, x]' '[3, 4]'

Arguments are values in Almach's syntax (`[1, 2]`, `(1, true)`, `{x = 1.0}`, `Some 3`) or the names of files that end in
.npy, .npz, .json or .txt; `-` reads standard input.
";
    BAD_DATA_FILE = "E0908", "a data file does not hold what is expected", "
A .npy, .npz, .json or .txt file is damaged, or holds a value of another type. Numbers are never widened silently: a
parameter of type `[]f32` needs a file of 32-bit floats.

    np.save('xs.npy', xs.astype(np.float32))

makes a file for a parameter of type `[]f32` from NumPy.
";
    UNKNOWN_FORMAT = "E0909", "a result cannot be written in that format", "
`-o` writes the format its file's ending names: .npy one regular array of numbers, .npz tuples, records and jagged
arrays, .json and .txt everything.

    almach run pairs.alm -o out.npy          -- a tuple is not one array

Write to .json, .txt or .npz instead.
";
    UNKNOWN_CODE = "E0910", "there is no such error code", "
`almach explain-error` takes a code as it is printed in brackets behind `error`:

    almach explain-error E0301

Without a code it lists all of them.
";
    FOLDER_EXISTS = "E0911", "the folder for a new project exists already", "
`almach new` makes a folder and never writes into one that is there, so that nothing is overwritten.

    almach new waves
";
    NO_C_COMPILER = "E0912", "there is no C compiler", "
The C back ends use the system's C compiler: the one in the environment variable `CC`, else `cc`. Without one,
`almach run` interprets the program when no back end was asked for, and otherwise stops here.

Install one (`apt install gcc`, `xcode-select --install`), or run with `--backend interp`.
";
    C_COMPILER_FAILED = "E0913", "the C compiler refused the generated code", "
The system's C compiler did not accept what Almach generated, or stopped for a reason of its own (a full disk, an
unknown option in `CC`). The compiler's own words follow the message. If the code itself is at fault, this is a
bug in Almach; please report it.
";
    BAD_OPTION = "E0914", "an option has a value that makes no sense", "
An option was given a value outside of what it takes; the message says which values make sense.

    almach bench program.alm --size n=ten

Write instead:

    almach bench program.alm --size n=10
";
    TEST_FAILED = "E0915", "a test did not give what it expects", "
The line after a `-- >` line says what the call must give: `-- =` this value exactly, `-- ~` this value to 1e-5
relative, `-- !` an error that contains this text.

    -- > main [1, 2, 3]
    -- = 7
";
    STDIN_TWICE = "E0916", "standard input is asked for twice", "
`-` reads all of standard input, so only one argument can be `-`.

    almach run dot.alm - - < xs.json

Put the others into files.
";
    NOT_FORMATTED = "E0918", "a file is in a language that is not formatted", "
`almach fmt` formats `.alm` files. Programs in NOVA's syntax are usually generated, and stay as they are.

    almach fmt main.nova
";
    MISSING_SIZES = "E0917", "sizes to measure at are missing", "
`almach tune` measures programs, and which is the fastest depends on the sizes of their arguments. Give arguments, or the value
of every size that the entry point names.

    entry main [n] [m] (xss: [n][m]f32) = …

    almach tune program.alm                                     -- at which sizes?

Write instead:

    almach tune program.alm --size n=1000,m=200
";
    NOTHING_TO_TUNE = "E0919", "there is nothing to decide about a program", "
`almach tune` looks for the best of the ways in which a program can run. This one has only one: there is no operation
on arrays that could be stored or computed where it is read, nor one whose strategy could be another; or every operation has
its level or effect written on it already.

    entry main (x: f32): f32 = x * 2
";
    ELEMENT_TYPE_MISMATCH = "E0920", "a file holds another type of numbers than expected", "
A `.npy` or `.npz` file says which type its numbers have, and they are never converted silently: a program that
expects `[]f32` does not read a file of 64-bit floats.

    np.save('xs.npy', np.array([1.0, 2.0]))                     -- 64-bit floats
    almach run dot.alm xs.npy xs.npy                            -- expects []f32

Write the file with the type the program expects, or change the program:

    np.save('xs.npy', np.array([1.0, 2.0], dtype=np.float32))
";
    SHAPE_MISMATCH = "E0921", "a file holds an array of another shape than expected", "
The number of dimensions must be that of the type, sizes that are numbers in the type must be those numbers, and a
size that is named twice must be the same twice. The rows of a regular array all have the same length.

    entry main [n] (xs: [n][n]f32) = …
    [[1, 2, 3], [4, 5, 6]]                                      -- 2 rows of 3

Give a file with the right shape, or write `[n][m]f32` in the program, or `[n][?]f32` for rows of different lengths.
";
    VALUE_MISMATCH = "E0922", "a part of a file is not a value of the expected type", "
The message names the way from the whole value to the part: `.x[3].1` is component 1 of element 3 of field `x`. In JSON
a record is an object, a tuple and an array are arrays, `None` is the text \"None\", `Some 3` is {\"Some\": 3}, a
constructor with several fields has them in an array, and floats that JSON has no number for are \"nan\", \"inf\" and
\"-inf\".

    {\"x\": 1, \"z\": 2}                                          -- for {x: f32, y: f32}

Write instead:

    {\"x\": 1, \"y\": 2}
";
    NUMBER_OUT_OF_RANGE = "E0923", "a number in a file does not fit its type", "
Integers must be in the range of their type; they are never wrapped around. A number too large for a float type is
not read as infinity.

    [1, 2, 300]                                                 -- for []u8

Use a larger type in the program, or correct the number. Infinity is written \"inf\" in JSON and `inf` in text.
";
}
