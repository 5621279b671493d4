//! What the client library does in threads of its own while Python waits for it, or does something
//! else.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pyo3::exceptions::{PyRuntimeError, PyTimeoutError};
use pyo3::prelude::*;
use tokio::runtime::{Builder, Runtime};
use tokio::task::AbortHandle;

use crate::errors::LiveError;

/// How long Python waits before it looks for signals.
const PATIENCE: Duration = Duration::from_millis(50);

/// The threads of one client.
pub struct Threads {
    /// There until it is dropped.
    runtime: Option<Runtime>,
    process: u32,
}

impl Threads {
    pub fn start() -> PyResult<Threads> {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        Ok(Threads { runtime: Some(runtime), process: std::process::id() })
    }

    fn runtime(&self) -> PyResult<&Runtime> {
        let runtime = self.runtime.as_ref().filter(|_| self.process == std::process::id());
        // A process that is forked off has none of its parent's threads, and would wait for ever.
        let forked = "a client does not work in a process that was forked off: make another there";
        runtime.ok_or_else(|| PyRuntimeError::new_err(forked))
    }

    /// Begins something. `cancelled` is called when Python does not want it any more.
    pub fn begin<T, W, C>(&self, work: W, cancelled: C) -> PyResult<Pending>
    where
        T: Made,
        W: Future<Output = Result<T, LiveError>> + Send + 'static,
        C: Future<Output = ()> + Send + 'static,
    {
        let runtime = self.runtime()?;
        let shared = Arc::new(Shared::default());
        let task = runtime.spawn({
            let (shared, handle) = (shared.clone(), runtime.handle().clone());
            async move {
                let result = work.await.map(|value| Box::new(value) as Box<dyn Make>);
                if let Some(callback) = shared.done(result) {
                    // A thread that calls Python may wait for its lock; flows must not.
                    handle.spawn_blocking(move || {
                        // An exception has nowhere to go; without an interpreter nobody waits.
                        Python::try_attach(|py| callback.call0(py).map_err(|e| e.print(py)).ok());
                    });
                }
            }
        });
        let handle = runtime.handle().clone();
        let cancelled = Mutex::new(Some(Box::pin(cancelled) as Cancelled));
        Ok(Pending { shared, task: task.abort_handle(), handle, cancelled })
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        // The threads are not waited for: one of them may be waiting for Python.
        if let Some(runtime) = self.runtime.take() {
            if self.process == std::process::id() {
                runtime.shutdown_background();
            } else {
                std::mem::forget(runtime);
            }
        }
    }
}

/// A value that Python can have.
pub trait Made: Send + 'static {
    fn make(self, py: Python<'_>) -> PyResult<Py<PyAny>>;
}

/// The same of a value whose type has been forgotten.
trait Make: Send {
    fn make(self: Box<Self>, py: Python<'_>) -> PyResult<Py<PyAny>>;
}

impl<T: Made> Make for T {
    fn make(self: Box<Self>, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Made::make(*self, py)
    }
}

impl Made for () {
    fn make(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(py.None())
    }
}

type Cancelled = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

#[derive(Default)]
struct Shared {
    inner: Mutex<Inner>,
    is_done: Condvar,
}

#[derive(Default)]
struct Inner {
    is_done: bool,
    result: Option<Result<Box<dyn Make>, LiveError>>,
    callback: Option<Py<PyAny>>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn done(&self, result: Result<Box<dyn Make>, LiveError>) -> Option<Py<PyAny>> {
        let mut inner = self.lock();
        (inner.is_done, inner.result) = (true, Some(result));
        self.is_done.notify_all();
        inner.callback.take()
    }

    /// Waits for a while; whether it is done.
    fn wait(&self, at_most: Duration) -> bool {
        let waited = self.is_done.wait_timeout_while(self.lock(), at_most, |inner| !inner.is_done);
        waited.unwrap_or_else(PoisonError::into_inner).0.is_done
    }
}

/// Something that is under way. It can be cancelled.
#[pyclass(frozen, module = "covey._core")]
pub struct Pending {
    shared: Arc<Shared>,
    task: AbortHandle,
    handle: tokio::runtime::Handle,
    cancelled: Mutex<Option<Cancelled>>,
}

#[pymethods]
impl Pending {
    /// Waits for it, for at most so many seconds, and returns what came of it. When that is too
    /// long, or a signal comes, it is cancelled.
    #[pyo3(signature = (timeout=None))]
    fn wait(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Py<PyAny>> {
        let timeout = timeout.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let patience = left.map_or(PATIENCE, |left| left.min(PATIENCE));
            if py.detach(|| self.shared.wait(patience)) {
                return self.result(py);
            }
            py.check_signals().inspect_err(|_| self.cancel())?;
            if left.is_some_and(|left| left.is_zero()) {
                self.cancel();
                return Err(PyTimeoutError::new_err("it took longer than the time given"));
            }
        }
    }

    /// Has `callback` called, in another thread, when it is done; at once if it is.
    fn then(&self, py: Python<'_>, callback: Py<PyAny>) -> PyResult<()> {
        let mut inner = self.shared.lock();
        if inner.is_done {
            drop(inner);
            callback.call0(py)?;
        } else {
            inner.callback = Some(callback);
        }
        Ok(())
    }

    /// What came of it, once.
    fn result(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let result = self.shared.lock().result.take();
        let none = "a bug, please report it: there is no result";
        let result = result.ok_or_else(|| PyRuntimeError::new_err(none))?;
        result.map_err(|error| error.raised(py))?.make(py)
    }

    /// Nobody wants it any more.
    fn cancel(&self) {
        self.task.abort();
        let cancelled = self.cancelled.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(cancelled) = cancelled {
            self.handle.spawn(cancelled);
        }
    }
}
