"""Fast compilation of parts: translated once, and optimised only inside the kernels that call them.

numba treats a function that only compiled functions call like one that Python calls. It optimises it, generates machine
code for it, and optimises it again inside each caller, and again inside each of their callers. A part stops before all
that: its kernels contain it as it is, and are optimised once. Nothing is reordered or contracted in either case, so
that results have the same bits.

In addition, numba compiles a function again for every combination of integer types and constants among its arguments. A
part takes int64 instead, whatever signed integers its callers pass.
"""

# mypy: allow-untyped-calls
from __future__ import annotations

from typing import Any

from numba import types
from numba.core import codegen, compiler, typed_passes
from numba.core.compiler_machinery import PassManager, register_pass

_SIGNED = frozenset({types.int8, types.int16, types.int32, types.int64})


class _NoEnvironment:
    """Receiver of the address of a part's global objects, which parts do not use."""

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing."""


class _PartLibrary(codegen.JITCodeLibrary):
    """LLVM code of a part and the parts that it calls, neither optimised nor executable."""

    codegen = _NoEnvironment()

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        """Link the code of the parts that this one calls."""
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0: Python cannot call a part."""
        self._ensure_finalized()
        return 0


@register_pass(mutates_CFG=True, analysis_only=False)
class _PartLowering(typed_passes.NativeLowering):
    """Translation of a part to LLVM code."""

    _name = "shoal_part_lowering"

    def run_pass(self, state: Any) -> bool:
        """Translate the part into a library of its own kind."""
        state.library = _PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return bool(super().run_pass(state))


class PartCompiler(compiler.CompilerBase):
    """numba's compiler, which for a part stops after the translation to LLVM code."""

    def define_pipelines(self) -> list[Any]:
        """Return numba's passes, with another translation."""
        found = PassManager("part")
        for one, name in compiler.DefaultPassBuilder.define_nopython_pipeline(self.state).passes:
            found.add_pass(_PartLowering if one is typed_passes.NativeLowering else one, name)
        found.finalize()
        return [found]


def with_int64(part: Any) -> Any:
    """Make a part take int64 wherever its callers pass a signed integer or a constant one."""
    usual = part.get_call_template

    def get_call_template(arguments: Any, keywords: Any) -> Any:
        return usual(tuple(map(_widened, arguments)), {name: _widened(one) for name, one in keywords.items()})

    part.get_call_template = get_call_template
    return part


def _widened(kind: Any) -> Any:
    plain = kind.literal_type if isinstance(kind, types.IntegerLiteral | types.BooleanLiteral) else kind
    return types.int64 if plain in _SIGNED else plain
