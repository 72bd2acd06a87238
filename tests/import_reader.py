"""Reads which imports a source has, and when they happen.

With `ast`, so that nothing need be installed, and functions too, so that nothing can
hide.
"""

import ast
from dataclasses import dataclass


@dataclass(frozen=True)
class Import:
    """One imported module, or one name imported from a module."""

    line: int
    module: str
    name: str | None
    when: str  # "import", "call" (inside a function) or "typing"


class _Reader(ast.NodeVisitor):
    """Collects the imports of one module, with when they happen."""

    def __init__(self, package):
        self.package = package
        self.when = "import"
        self.imports = []

    def _inside(self, when, nodes):
        before, self.when = self.when, when
        for node in nodes:
            self.visit(node)
        self.when = before

    def _add(self, node, module, name=None):
        self.imports.append(Import(node.lineno, module, name, self.when))

    def _absolute(self, module, level):
        if not level:
            return module
        parts = self.package.split(".")
        parts = parts[: len(parts) - level + 1]
        return ".".join([*parts, module] if module else parts)

    def visit_FunctionDef(self, node):
        # Decorators and defaults run with the module, the body with the call.
        self._inside(self.when, [*node.decorator_list, node.args])
        self._inside("call", node.body)

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815 (the name is ast's)

    def visit_If(self, node):
        typing_only = ast.unparse(node.test).endswith("TYPE_CHECKING")
        self._inside("typing" if typing_only else self.when, node.body)
        self._inside(self.when, [node.test, *node.orelse])

    def visit_Import(self, node):
        for alias in node.names:
            self._add(node, alias.name)

    def visit_ImportFrom(self, node):
        module = self._absolute(node.module or "", node.level)
        for alias in node.names:
            self._add(node, module, alias.name)

    def visit_Call(self, node):
        called = ast.unparse(node.func).rpartition(".")[2]
        first = node.args[0] if node.args else None
        if called in ("import_module", "__import__") and isinstance(
            first, ast.Constant
        ):
            module = first.value.lstrip(".")
            level = len(first.value) - len(module)
            self._add(node, self._absolute(module, level))
        self.generic_visit(node)


def read_imports(text, package):
    """The imports of a source text that lies in `package`."""
    reader = _Reader(package)
    reader.visit(ast.parse(text))
    return reader.imports
