"""Ctrl-C while a policy in Python computes ends the run, its threads, and the interpreter."""

import os
import signal
import subprocess
import sys
import time

import pytest

POLICIES = """
import os
import time
import covey

trace = covey.generate("fb-like", coflows=20)

def compute():
    os.write(1, b"computes\\n")  # in one piece, also of several threads
    while True:
        pass

class InPlan(covey.Policy):
    def plan(self, view, plan):
        compute()

class InHandler(covey.Policy):
    def coflow_arrived(self, coflow, view):
        compute()
    def plan(self, view, plan):
        plan.everything()

class Stubborn(covey.Policy):
    def plan(self, view, plan):
        os.write(1, b"computes\\n")
        while True:
            try:
                list(view.coflows)
            except Exception:
                pass

class Swept(InPlan):
    def __init__(self, step=1):
        self.step = step
"""

INTERRUPTED = """
try:
    {run}
except KeyboardInterrupt:
    print("stopped", flush=True)
before = time.process_time()
time.sleep(0.5)
print("burns" if time.process_time() - before > 0.25 else "rests", flush=True)
"""

RUNS = {
    "plan": "covey.simulate(trace, InPlan)",
    "handler": "covey.simulate(trace, InHandler)",
    "caught": "covey.simulate(trace, Stubborn)",
    "compare": "covey.compare(trace, ['fair', InPlan, InHandler], jobs=3)",
    "sweep": "covey.sweep({'trace': trace, 'policy': Swept, 'step': [1, 2, 3]}, jobs=2)",
    "check": "covey.check_policy(InPlan)",
}


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is no signal there")
@pytest.mark.parametrize("run", RUNS)
def test_ctrl_c_ends_a_policy_that_computes(run: str) -> None:
    script = POLICIES + INTERRUPTED.format(run=RUNS[run])
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        try:
            assert process.stdout.readline() == "computes\n"
            time.sleep(0.2)
            asked = time.monotonic()
            process.send_signal(signal.SIGINT)
            said, errors = process.communicate(timeout=20)
        finally:
            process.kill()
    took_s = time.monotonic() - asked
    assert said.split()[-2:] == ["stopped", "rests"], errors
    assert process.returncode == 0, errors
    assert took_s < 5, f"it took {took_s} s"


def test_the_interrupted_line_of_a_policy_is_shown() -> None:
    script = POLICIES + RUNS["plan"]
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        try:
            assert process.stdout.readline() == "computes\n"
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=20)
        finally:
            process.kill()
    assert "in compute" in errors
    assert process.returncode == -signal.SIGINT


def test_a_notebook_s_kernel_is_interrupted_and_goes_on() -> None:
    jupyter = pytest.importorskip("jupyter_client", reason="jupyter_client is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    manager, client = jupyter.manager.start_new_kernel()
    try:
        client.execute_interactive(POLICIES, timeout=60)
        client.execute(RUNS["plan"], stop_on_error=False)
        # No cell shows the policy's output; the policy computes within this time.
        time.sleep(1.5)
        manager.interrupt_kernel()
        reply = client.get_shell_msg(timeout=20)
        while reply["content"].get("ename") != "KeyboardInterrupt":
            reply = client.get_shell_msg(timeout=20)
        code = "begin = time.process_time(); time.sleep(0.5); assert time.process_time() - begin < 0.25"
        reply = client.execute_interactive(code, timeout=20)
        assert reply["content"]["status"] == "ok"
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
