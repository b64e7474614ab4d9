"""Kernels in threads and in forked processes."""

import subprocess
import sys
import textwrap


def run(program):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, "same"), done.stderr


def test_threads_may_run_kernels_at_once():
    run("""
        from concurrent.futures import ThreadPoolExecutor
        import numpy as np
        from shoal.kernels.mdav.mdav import mdav
        tables = [np.random.default_rng(i).normal(size=(6000, 3)) for i in range(4)]
        jobs = [(t, 3, path) for t in tables for path in ("brute", "index")]
        alone = [mdav(t, k, path=path)[0] for t, k, path in jobs]
        with ThreadPoolExecutor(4) as pool:
            together = list(pool.map(lambda job: mdav(job[0], job[1], path=job[2])[0], jobs))
        assert all(np.array_equal(a, b) for a, b in zip(alone, together, strict=True))
        print("same")
    """)


def test_a_forked_process_may_run_kernels():
    run("""
        import multiprocessing
        import warnings
        import numpy as np
        from shoal.kernels.mdav.mdav import mdav
        warnings.simplefilter("ignore")
        points = np.random.default_rng(0).normal(size=(6000, 3))
        def labels(path):
            return mdav(points, 3, path=path)[0]
        here = [labels("brute"), labels("index")]
        with multiprocessing.get_context("fork").Pool(2) as pool:
            there = pool.map(labels, ["brute", "index"])
        assert all(np.array_equal(a, b) for a, b in zip(here, there, strict=True))
        print("same")
    """)
