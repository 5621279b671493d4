//! The client library: coflows that a coordinator schedules, and their flows over real sockets.
//! What takes time is a `Pending`.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use covey_client::{
    Blocks, Client, Coflow, CoflowSpec, CoflowStatus, FlowReceiver, FlowSender, Incoming, Listener,
    Mode, Options, TlsFiles, Update,
};
use covey_core::suggest::{did_you_mean, nearest};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Mutex;

use crate::errors::{InputError, bad};
use crate::json::as_python;
use crate::pending::{Made, Pending, Threads};

fn parsed<T: DeserializeOwned>(json: &str) -> PyResult<T> {
    serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_str(json))
        .map_err(|error| InputError::new_err(error.to_string()))
}

fn parsed_mode(text: &str) -> PyResult<Mode> {
    match text.split_once(':').unwrap_or((text, "")) {
        ("coordinator", "") => Ok(Mode::Coordinator),
        ("stream", settings) => covey_sched::stream::settings(settings)
            .map(Mode::Stream)
            .map_err(|error| InputError::new_err(format!("mode: {error}"))),
        (name, _) => {
            let meant = nearest(name, ["coordinator", "stream"]).filter(|meant| *meant != name);
            let expected = "coordinator, stream or stream:key=value,…";
            let hint = did_you_mean(meant);
            Err(InputError::new_err(format!("mode: expected {expected}, found '{text}'{hint}")))
        }
    }
}

fn seconds(argument: &str, seconds: f64) -> PyResult<Duration> {
    let found = || bad(argument, "a number of seconds, not below zero", &seconds.to_string());
    Duration::try_from_secs_f64(seconds).map_err(|_| found())
}

impl Made for Vec<u8> {
    fn make(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(PyBytes::new(py, &self).into_any().unbind())
    }
}

/// What is absent in JSON is `None` in Python.
const ABSENT: [&str; 5] = ["name", "end_s", "idle_why", "idle_s", "kept_s"];

fn status_as_python(py: Python<'_>, status: &CoflowStatus) -> PyResult<Py<PyAny>> {
    let dict = as_python(py, status)?;
    for key in ABSENT {
        dict.call_method1("setdefault", (key, py.None()))?;
    }
    Ok(dict.unbind())
}

impl Made for Option<CoflowStatus> {
    fn make(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.map_or_else(|| Ok(py.None()), |status| status_as_python(py, &status))
    }
}

impl Made for Vec<CoflowStatus> {
    fn make(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let all: PyResult<Vec<_>> = self.iter().map(|one| status_as_python(py, one)).collect();
        Ok(all?.into_pyobject(py)?.into_any().unbind())
    }
}

/// What is made an object of Python.
macro_rules! made {
    ($($class:ty)*) => { $(
        impl Made for $class {
            fn make(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
                Ok(Py::new(py, self)?.into_any())
            }
        }
    )* };
}
made!(LiveClient LiveCoflow LiveListener LiveSender LiveReceiver LiveBlocks);

/// An application's part in coflow scheduling.
#[pyclass(frozen, module = "covey._core")]
pub struct LiveClient {
    threads: Arc<Threads>,
    client: Client,
}

/// Finds the agent on this host, and the coordinator.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "Python's callers name them")]
#[pyo3(signature = (mode, agent, coordinator, credentials, hold_max, lease, deadline, strict, tls))]
pub fn connect(
    mode: &str,
    agent: Option<PathBuf>,
    coordinator: Option<String>,
    credentials: PathBuf,
    hold_max: Option<f64>,
    lease: f64,
    deadline: f64,
    strict: bool,
    tls: Option<PathBuf>,
) -> PyResult<Pending> {
    let mode = parsed_mode(mode)?;
    let (deadline, lease) = (seconds("deadline", deadline)?, seconds("lease", lease)?);
    let hold_max = hold_max.map(|hold_max| seconds("hold_max", hold_max)).transpose()?;
    let threads = Arc::new(Threads::start()?);
    let shared = threads.clone();
    let work = async move {
        let read = |text: String| {
            let expected = "a host and a port, like 127.0.0.1:7420 or coordinator.example:7420";
            text.parse().map_err(|_| bad("coordinator", expected, &text))
        };
        let coordinator = coordinator.map(read).transpose()?;
        let options = Options {
            mode,
            agent,
            coordinator,
            credentials,
            hold_max,
            lease,
            deadline,
            strict,
            tls: tls.map(|folder| TlsFiles::of_agent(&folder)),
        };
        let client = Client::start(options).await?;
        Ok(LiveClient { threads: shared, client })
    };
    threads.begin(work, async {})
}

#[pymethods]
impl LiveClient {
    #[getter]
    fn scheduled(&self) -> String {
        self.client.scheduled().to_string()
    }

    #[getter]
    fn unregistered_because(&self) -> Option<String> {
        self.client.unregistered_because()
    }

    #[getter]
    fn port(&self) -> Option<u32> {
        self.client.port()
    }

    #[getter]
    fn unsettled(&self) -> usize {
        self.client.unsettled()
    }

    fn settled(&self) -> PyResult<Pending> {
        let client = self.client.clone();
        let work = async move {
            client.settled().await;
            Ok(())
        };
        self.threads.begin(work, async {})
    }

    fn register(&self, spec: &str) -> PyResult<Pending> {
        let spec: CoflowSpec = parsed(spec)?;
        let (threads, client) = (self.threads.clone(), self.client.clone());
        let work = async move {
            let coflow = client.register(&spec).await?;
            Ok(LiveCoflow { threads, coflow })
        };
        self.threads.begin(work, async {})
    }

    fn join(&self, id: u64) -> LiveCoflow {
        LiveCoflow { threads: self.threads.clone(), coflow: self.client.join(id) }
    }

    fn coflows(&self, all: bool) -> PyResult<Pending> {
        let client = self.client.clone();
        let work = async move { Ok(client.coflows(all).await?) };
        self.threads.begin(work, async {})
    }

    fn listen(&self, address: String) -> PyResult<Pending> {
        let (threads, client) = (self.threads.clone(), self.client.clone());
        let work = async move {
            let listener = client.listen(address).await?;
            let address = listener.local_addr().to_string();
            Ok(LiveListener { threads, address, listener: Slot::of(listener) })
        };
        self.threads.begin(work, async {})
    }

    fn blocks(&self, address: String) -> PyResult<Pending> {
        let (threads, client) = (self.threads.clone(), self.client.clone());
        let work = async move {
            let blocks = Blocks::listen(&client, address).await?;
            Ok(LiveBlocks { threads, blocks: Arc::new(blocks) })
        };
        self.threads.begin(work, async {})
    }
}

/// A coflow that this application takes part in.
#[pyclass(frozen, module = "covey._core")]
pub struct LiveCoflow {
    threads: Arc<Threads>,
    coflow: Coflow,
}

#[pymethods]
impl LiveCoflow {
    #[getter]
    fn id(&self) -> u64 {
        self.coflow.id()
    }

    #[getter]
    fn is_registered(&self) -> bool {
        self.coflow.is_registered()
    }

    fn status(&self) -> PyResult<Pending> {
        let coflow = self.coflow.clone();
        self.threads.begin(async move { Ok(coflow.status().await?) }, async {})
    }

    fn ended(&self) -> PyResult<Pending> {
        let coflow = self.coflow.clone();
        self.threads.begin(async move { Ok(coflow.ended().await?) }, async {})
    }

    fn update(&self, update: &str) -> PyResult<Pending> {
        let update: Update = parsed(update)?;
        let coflow = self.coflow.clone();
        self.threads.begin(async move { Ok(coflow.update(&update).await?) }, async {})
    }

    fn deregister(&self) -> PyResult<Pending> {
        let coflow = self.coflow.clone();
        self.threads.begin(async move { Ok(coflow.deregister().await?) }, async {})
    }

    #[pyo3(signature = (flow, to, bytes, label))]
    fn open(&self, flow: u32, to: String, bytes: Option<u64>, label: Vec<u8>) -> PyResult<Pending> {
        let (threads, coflow) = (self.threads.clone(), self.coflow.clone());
        let work = async move {
            let sender = coflow.open(flow, to, bytes, &label).await?;
            Ok(LiveSender { threads, sender: Slot::of(sender) })
        };
        self.threads.begin(work, async {})
    }

    fn push(&self, flow: u32, to: String, name: Vec<u8>, data: PyBackedBytes) -> PyResult<Pending> {
        let coflow = self.coflow.clone();
        let work = async move { Ok(Blocks::push(&coflow, flow, to, &name, &data).await?) };
        self.threads.begin(work, async {})
    }

    fn get(&self, flow: u32, from: String, name: Vec<u8>) -> PyResult<Pending> {
        let coflow = self.coflow.clone();
        let work = async move { Ok(Blocks::get(&coflow, flow, from, &name).await?) };
        self.threads.begin(work, async {})
    }
}

/// Something with a socket. A call takes it out, and puts it back if all went well. If the call is
/// given up half way, the socket is closed.
struct Slot<T>(Arc<Mutex<Option<T>>>);

impl<T: Send + 'static> Slot<T> {
    fn of(value: T) -> Slot<T> {
        Slot(Arc::new(Mutex::new(Some(value))))
    }

    fn begin<R: Made, F: Future<Output = io::Result<(R, Option<T>)>> + Send>(
        &self,
        threads: &Threads,
        work: impl FnOnce(T) -> F + Send + 'static,
    ) -> PyResult<Pending> {
        let slot = self.0.clone();
        let work = async move {
            let mut slot = slot.lock().await;
            let value = slot.take().ok_or_else(|| PyOSError::new_err("it is closed"))?;
            let (result, value) = work(value).await?;
            *slot = value;
            Ok(result)
        };
        threads.begin(work, self.closed())
    }

    fn closed(&self) -> impl Future<Output = ()> + Send + 'static {
        let slot = self.0.clone();
        async move {
            slot.lock().await.take();
        }
    }

    fn close(&self, threads: &Threads) -> PyResult<Pending> {
        let closed = self.closed();
        let work = async move {
            closed.await;
            Ok(())
        };
        threads.begin(work, async {})
    }
}

/// Where others open flows to this application.
#[pyclass(frozen, module = "covey._core")]
pub struct LiveListener {
    threads: Arc<Threads>,
    address: String,
    listener: Slot<Listener>,
}

#[pymethods]
impl LiveListener {
    #[getter]
    fn address(&self) -> &str {
        &self.address
    }

    /// The next flow that comes here; who asks for one is sent away.
    fn accept(&self) -> PyResult<Pending> {
        let threads = self.threads.clone();
        // A listener is not closed when somebody does not wait any longer: nothing is lost by that.
        let slot = self.listener.0.clone();
        let work = async move {
            let mut slot = slot.lock().await;
            let listener = slot.as_mut().ok_or_else(|| PyOSError::new_err("it is closed"))?;
            loop {
                if let Incoming::Flow(flow) = listener.accept().await? {
                    return Ok(LiveReceiver::of(threads, flow));
                }
            }
        };
        self.threads.begin(work, async {})
    }

    fn close(&self) -> PyResult<Pending> {
        self.listener.close(&self.threads)
    }
}

/// The sending end of a flow.
#[pyclass(frozen, module = "covey._core")]
pub struct LiveSender {
    threads: Arc<Threads>,
    sender: Slot<FlowSender>,
}

#[pymethods]
impl LiveSender {
    fn write(&self, data: PyBackedBytes) -> PyResult<Pending> {
        self.sender.begin(&self.threads, async move |mut sender| {
            sender.write_all(&data).await?;
            Ok(((), Some(sender)))
        })
    }

    fn finish(&self) -> PyResult<Pending> {
        self.sender.begin(&self.threads, async move |mut sender| {
            sender.finish().await?;
            Ok(((), None))
        })
    }

    fn close(&self) -> PyResult<Pending> {
        self.sender.close(&self.threads)
    }
}

/// The receiving end of a flow.
#[pyclass(frozen, module = "covey._core")]
pub struct LiveReceiver {
    threads: Arc<Threads>,
    coflow: u64,
    flow: u32,
    label: Vec<u8>,
    size: Option<u64>,
    receiver: Slot<FlowReceiver>,
}

impl LiveReceiver {
    fn of(threads: Arc<Threads>, receiver: FlowReceiver) -> LiveReceiver {
        LiveReceiver {
            threads,
            coflow: receiver.coflow(),
            flow: receiver.flow(),
            label: receiver.label().to_vec(),
            size: receiver.bytes(),
            receiver: Slot::of(receiver),
        }
    }
}

#[pymethods]
impl LiveReceiver {
    #[getter]
    fn coflow(&self) -> u64 {
        self.coflow
    }

    #[getter]
    fn flow(&self) -> u32 {
        self.flow
    }

    #[getter]
    fn label<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.label)
    }

    #[getter]
    fn size(&self) -> Option<u64> {
        self.size
    }

    /// What has come, at most so many bytes; nothing at the end.
    fn read(&self, most: usize) -> PyResult<Pending> {
        self.receiver.begin(&self.threads, async move |mut receiver| {
            let mut data = vec![0; most];
            let count = receiver.read(&mut data).await?;
            data.truncate(count);
            Ok((data, Some(receiver)))
        })
    }

    fn read_all(&self) -> PyResult<Pending> {
        self.receiver.begin(&self.threads, async move |mut receiver| {
            let mut data = Vec::new();
            receiver.read_to_end(&mut data).await?;
            Ok((data, Some(receiver)))
        })
    }

    fn close(&self) -> PyResult<Pending> {
        self.receiver.close(&self.threads)
    }
}

/// Where this application's blocks come and go.
#[pyclass(frozen, module = "covey._core")]
pub struct LiveBlocks {
    threads: Arc<Threads>,
    blocks: Arc<Blocks>,
}

#[pymethods]
impl LiveBlocks {
    #[getter]
    fn address(&self) -> String {
        self.blocks.local_addr().to_string()
    }

    fn pull(&self, coflow: u64, name: Vec<u8>) -> PyResult<Pending> {
        let blocks = self.blocks.clone();
        let work = async move { Ok(blocks.pull(coflow, &name).await?) };
        self.threads.begin(work, async {})
    }

    fn put(&self, coflow: u64, name: Vec<u8>, data: Vec<u8>) {
        self.blocks.put(coflow, &name, data);
    }

    fn remove(&self, coflow: u64, name: Vec<u8>) {
        self.blocks.remove(coflow, &name);
    }
}
