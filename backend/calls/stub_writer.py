"""The frame of a stub: its exits, and the references that it holds."""

from __future__ import annotations

from adc.backend.calls.abi import Signature
from adc.backend.llvm_text import Fragment, Writer
from adc.backend.support import contexts


class StubWriter(Writer):
    """A stub while it is written: ``ptr symbol(ptr %self, ptr %args, i64 %count)``.

    Exits: ``miss`` (arguments do not fit), ``fail`` (a Python exception is set). Both release the references in
    ``owned``, stack slots that hold null or an object.
    """

    def __init__(self, signature: Signature, symbol: str) -> None:
        super().__init__()
        self.signature = signature
        self.symbol_name = symbol
        self.entry = ""
        self.prologue: list[str] = []
        self.owned: list[str] = []
        self.context = "null"
        self._constants: dict[str, str] = {}
        self._objects = 0

    def stack(self, type: str, align: int = 8) -> str:
        """Memory in the frame."""
        name = f"%s{len(self.prologue)}"
        self.prologue.append(f"  {name} = alloca {type}, align {align}")
        return name

    def own(self, value: str) -> str:
        """Hold a new reference (or null) until the stub returns. Returns its slot."""
        slot = f"%o{len(self.owned)}"
        self.owned.append(slot)
        self.do(f"store ptr {value}, ptr {slot}")
        return slot

    def object(self) -> str:
        """A borrowed reference to the next Python object of the stub's table, in the order of ``objects_of``."""
        self._objects += 1
        return self.field(f'@"{self.symbol_name}.objects"', 8 * (self._objects - 1))

    def string(self, text: str) -> str:
        """A C string."""
        if text not in self._constants:
            self._constants[text] = f'@"{self.symbol_name}.text{len(self._constants)}"'
        return self._constants[text]

    def release_owned(self, but: frozenset[str] = frozenset()) -> None:
        for slot in self.owned:
            if slot not in but:
                self.call_void("Py_DecRef", f"ptr {self.let(f'load ptr, ptr {slot}')}")

    def _release_all(self) -> None:
        """Release all references with a call. Many checks branch here; inline code would need a phi for each slot with
        an entry for each check."""
        if self.owned:
            self.call_void("adc_let_go", "ptr %owned", f"i64 {len(self.owned)}")

    def take_context(self) -> None:
        """Take a context from the pool, which the interpreter lock protects here."""
        if not self.signature.context:
            return
        pool = self.symbol("adc_pool")
        slot = self.stack("ptr")
        pop, new, none, ready = (self.label(n) for n in ("pop", "new", "none", "ready"))
        first = self.let(f"load ptr, ptr {pool}")
        self.branch_if(self.let(f"icmp eq ptr {first}, null"), new, pop)
        self.begin(pop)
        self.do(f"store ptr {self.field(first, contexts.CONTEXT_NEXT)}, ptr {pool}")
        self.do(f"store ptr {first}, ptr {slot}")
        self.branch(ready)
        self.begin(new)
        fresh = self.call("adc_context_new")
        self.do(f"store ptr {fresh}, ptr {slot}")
        self.branch_if(self.let(f"icmp eq ptr {fresh}, null"), none, ready)
        self.begin(none)
        self.call("PyErr_NoMemory")
        self.branch("fail")
        self.begin(ready)
        self.context = self.let(f"load ptr, ptr {slot}")

    def give_context(self) -> None:
        """Give the context back. If it has not allocated and has no error, it only has to be linked into the pool."""
        if not self.signature.context:
            return
        pool = self.symbol("adc_pool")
        if self.signature.threads:
            self.do(f"store i32 0, ptr {self.context}")
        used = self.field(self.context, contexts.CONTEXT_PEAK_BYTES, "i64")
        error = self.field(self.context, contexts.CONTEXT_ERROR, "i32")
        limit = self.field(self.context, contexts.CONTEXT_LIMIT, "i64")
        state = self.let(f"or i64 {used}, {self.let(f'zext i32 {error} to i64')}")
        state = self.let(f"or i64 {state}, {limit}")
        link, tidy, done = (self.label(n) for n in ("link", "tidy", "given"))
        self.branch_if(self.let(f"icmp eq i64 {state}, 0"), link, tidy)
        self.begin(tidy)
        self.call_void("adc_context_give", f"ptr {self.context}")
        self.branch(done)
        self.begin(link)
        self.put(f"ptr {self.let(f'load ptr, ptr {pool}')}", self.context, contexts.CONTEXT_NEXT)
        self.do(f"store ptr {self.context}, ptr {pool}")
        self.branch(done)
        self.begin(done)

    def call_method(self, name: str, format: str, *args: str) -> str:
        """``self.name(...)`` with arguments by ``Py_BuildValue`` format; a new reference or null."""
        function = self.symbol("PyObject_CallMethod")
        texts = f"ptr {self.string(name)}, ptr {self.string(format)}"
        return self.let(f"call ptr (ptr, ptr, ptr, ...) {function}(ptr %self, {', '.join([texts, *args])})")

    def exits(self) -> None:
        """Append the exits of the stub, which all failing checks share."""
        self.begin("miss")
        self._release_all()
        method = self.call("PyObject_GetAttrString", "ptr %self", f"ptr {self.string('miss')}")
        self.require(self.let(f"icmp ne ptr {method}, null"), "null")
        result = self.call("PyObject_Vectorcall", f"ptr {method}", "ptr %args", "i64 %count", "ptr null")
        self.call_void("Py_DecRef", f"ptr {method}")
        self.do(f"ret ptr {result}")
        self.begin("fail")
        self._release_all()
        self.branch("null")
        self.begin("null")
        self.do("ret ptr null")

    def fragment(self) -> Fragment:
        entry = [f"  %owned = alloca [{len(self.owned)} x ptr], align 8"] if self.owned else []
        for number, slot in enumerate(self.owned):
            entry.append(f"  {slot} = getelementptr ptr, ptr %owned, i64 {number}")
            entry.append(f"  store ptr null, ptr {slot}")
        body = "\n".join(["entry:", *self.prologue, *entry, *self.lines])
        text = f'define ptr @"{self.symbol_name}"(ptr %self, ptr %args, i64 %count) {{\n{body}\n}}\n'
        for value, name in self._constants.items():
            data = value.encode() + b"\0"
            escaped = "".join(f"\\{byte:02X}" for byte in data)
            text += f'{name} = private unnamed_addr constant [{len(data)} x i8] c"{escaped}"\n'
        if self._objects:
            text += f'@"{self.symbol_name}.objects" = global [{self._objects} x ptr] zeroinitializer\n'
        return Fragment(text, self.declarations)
