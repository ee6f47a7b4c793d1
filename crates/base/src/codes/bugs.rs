//! `E99xx`: mistakes of the compiler itself.

codes! {
    COMPILER_BUG = "E9999", "the compiler has a bug", "
An invariant of the compiler does not hold. Your program may be right or wrong; either way the compiler should have
compiled it or said what is wrong with it, so this is our mistake and not yours.

Please report it with the whole message, the version (`almach --version`), the command you gave, and the smallest
program that shows it. The message names the place in the compiler that noticed, and where one is known the place in
your program it was working on; writing that part of the program differently often avoids the bug meanwhile.
";
}
