"""What pycanon finds in a CSV file, and the CPU seconds it takes, as JSON. Run by benchmarks/audit.py.

    PYTHON_WITH_PYCANON benchmarks/audit_pycanon.py FILE quasi,… confidential shuffle|as-it-is

It imports nothing of shoal: pycanon asks for older versions of numpy and pandas, and lives in an environment of its
own.
"""

import json
import sys
import time


def main(path, quasi, confidential, order):
    import pandas as pd
    from pycanon import anonymity

    data = pd.read_csv(path)
    if order == "shuffle":  # as users do: the index keeps the labels
        data = data.sample(frac=1, random_state=0)
    calls = {
        "k": lambda: int(anonymity.k_anonymity(data, quasi)),
        "l_distinct": lambda: int(anonymity.l_diversity(data, quasi, [confidential])),
        "l_entropy": lambda: int(anonymity.entropy_l_diversity(data, quasi, [confidential])),
        "l_recursive": lambda: [float(v) for v in anonymity.recursive_c_l_diversity(data, quasi, [confidential])],
        "alpha": lambda: float(anonymity.alpha_k_anonymity(data, quasi, [confidential])[0]),
        "t": lambda: float(anonymity.t_closeness(data, quasi, [confidential])),
    }
    found = {}
    for name, call in calls.items():
        start = time.process_time()
        value = call()
        found[name] = [value, time.process_time() - start]
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2].split(","), sys.argv[3], sys.argv[4])
