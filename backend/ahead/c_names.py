"""Names in C, and those that the language and its library reserve."""

from __future__ import annotations

import re

from adc.ir import ops

_KEYWORDS = frozenset(
    """
    auto break case char const continue default do double else enum extern float for goto if inline int long
    register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
    bool true false alignas alignof constexpr nullptr static_assert thread_local typeof and bitand bitor catch
    class compl concept delete explicit export friend mutable namespace new not operator or private protected
    public template this throw try typeid typename using virtual xor asm complex imaginary handle
    int8_t int16_t int32_t int64_t uint8_t size_t NULL
    """.split()  # noqa: SIM905
)
"""Keywords of C and C++, and names that headers use. They are not used for parameters."""

_OF_MATH = frozenset(kind.c_name for kind in ops.TABLE.values() if kind.c_name).union(
    """
    fdim fmax fmin frexp ilogb ldexp llrint llround logb lrint lround modf nan nearbyint nextafter nexttoward
    remquo rint scalbln scalbn
    """.split()  # noqa: SIM905
)
"""Mathematical functions for doubles: those with an operation in the IR, and the rest of ISO C's."""
LIBRARY = frozenset(
    """
    abort abs atexit atof atoi atol atoll bsearch calloc clock ctime difftime div exit fclose fflush fopen fprintf fread
    free fscanf fwrite getc getchar getenv gets labs llabs ldiv lldiv localtime longjmp main malloc memchr memcmp memcpy
    memmove memset mktime perror printf putc putchar puts qsort raise rand realloc remove rename rewind scanf setjmp
    signal snprintf sprintf srand sscanf strcat strchr strcmp strcoll strcpy strcspn strerror strftime strlen strncat
    strncmp strncpy strpbrk strrchr strspn strstr strtod strtok strtol strtoul system time tmpfile ungetc vprintf
    j0 j1 jn y0 y1 yn sincos bcmp
    """.split()  # noqa: SIM905
).union(_OF_MATH, (f"{name}{kind}" for name in _OF_MATH for kind in "fl"))
"""In other code these names refer to the C library (ISO C 7.1.3), or to the start of a program."""


def identifier(name: str) -> str:
    """A valid C identifier that looks like a name in Python."""
    name = re.sub(r"\W", "_", name, flags=re.ASCII) or "_"
    if name[0].isdigit():
        name = f"_{name}"
    return f"{name}_" if name in _KEYWORDS else name
