//! Tables that any library of data frames takes over without a copy, by the Arrow PyCapsule
//! interface.

use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::UInt32Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int64Array, RecordBatch,
    RecordBatchIterator, StringArray, UInt32Array,
};
use arrow_schema::{Field, Schema};
use covey_report::{Column, Values};
use covey_trace::OnClock;
use pyo3::exceptions::{PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyCapsule, PyDict, PyInt, PyList};

use crate::html;

/// A table: named columns of the same length, with the unit at the end of each name.
///
/// It has the Arrow PyCapsule interface: ``polars.DataFrame(frame)`` and ``pyarrow.table(frame)``
/// share its memory.
#[pyclass(frozen, module = "covey")]
pub struct Frame {
    batch: RecordBatch,
}

impl Frame {
    /// A table of columns.
    pub fn of(columns: Vec<Column<'_>>) -> PyResult<Frame> {
        let columns =
            columns.into_iter().map(|column| (column.name.to_owned(), array(column.values)));
        Frame::named(columns.collect())
    }

    fn named(columns: Vec<(String, ArrayRef)>) -> PyResult<Frame> {
        let field = |(name, array): &(String, ArrayRef)| {
            Field::new(name, array.data_type().clone(), array.is_nullable())
        };
        let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
        let arrays = columns.into_iter().map(|(_, array)| array).collect();
        let batch = RecordBatch::try_new(schema, arrays)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Frame { batch })
    }
}

/// The values of a column; numbers are taken over, not copied.
fn array(values: Values<'_>) -> ArrayRef {
    match values {
        Values::Text(values) => Arc::new(StringArray::from(values)),
        Values::Name(names, places) => {
            let (names, places) = (StringArray::from(names), UInt32Array::from(places));
            Arc::new(DictionaryArray::<UInt32Type>::new(places, Arc::new(names)))
        }
        Values::Count(values) => Arc::new(UInt32Array::from(values)),
        Values::Number(values) => Arc::new(Float64Array::from(values)),
        Values::Time(values) => {
            Arc::new(Float64Array::from_iter_values(values.into_iter().map(OnClock::as_secs)))
        }
        Values::Maybe(values) => Arc::new(Float64Array::from(values)),
        Values::Flag(values) => Arc::new(BooleanArray::from(values)),
    }
}

/// Python's values as a column: of whole numbers, numbers, flags or text, each with gaps.
fn column(name: &str, values: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    let values: Vec<Option<Bound<'_, PyAny>>> = values.extract()?;
    let present = || values.iter().flatten();
    let is_flag = |value: &Bound<'_, PyAny>| value.is_instance_of::<PyBool>();
    let is_whole = |value: &Bound<'_, PyAny>| value.is_instance_of::<PyInt>() && !is_flag(value);
    let is_number = |value: &Bound<'_, PyAny>| !is_flag(value) && value.extract::<f64>().is_ok();
    fn each<'py, T>(values: &[Option<Bound<'py, PyAny>>]) -> PyResult<Vec<Option<T>>>
    where
        T: for<'a> FromPyObject<'a, 'py>,
        for<'a> PyErr: From<<T as FromPyObject<'a, 'py>>::Error>,
    {
        let one = |value: &Option<Bound<'py, PyAny>>| match value {
            Some(value) => Ok(Some(value.extract::<T>()?)),
            None => Ok(None),
        };
        values.iter().map(one).collect()
    }
    Ok(if values.iter().flatten().all(is_whole) && present().next().is_some() {
        Arc::new(Int64Array::from(each::<i64>(&values)?))
    } else if present().all(is_number) {
        Arc::new(Float64Array::from(each::<f64>(&values)?))
    } else if present().all(is_flag) {
        Arc::new(BooleanArray::from(each::<bool>(&values)?))
    } else {
        let text = each::<String>(&values).map_err(|_| {
            PyTypeError::new_err(format!("{name}: expected numbers, or flags, or text throughout"))
        })?;
        Arc::new(StringArray::from(text))
    })
}

/// A column as Python's own values.
fn list<'py>(py: Python<'py>, array: &dyn Array) -> PyResult<Bound<'py, PyList>> {
    macro_rules! as_list {
        ($($type:ty),*) => {
            $(if let Some(array) = array.as_any().downcast_ref::<$type>() {
                return PyList::new(py, array.iter().collect::<Vec<_>>());
            })*
        };
    }
    as_list!(Float64Array, UInt32Array, Int64Array, BooleanArray, StringArray);
    if let Some(names) = array.as_any().downcast_ref::<DictionaryArray<UInt32Type>>()
        && let Some(names) = names.downcast_dict::<StringArray>()
    {
        return PyList::new(py, names.into_iter().collect::<Vec<_>>());
    }
    Err(PyTypeError::new_err(format!("no list of {}", array.data_type())))
}

/// A library that the extra of the package brings.
fn library<'py>(py: Python<'py>, name: &str, extra: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("covey._extras")?.call_method1("library", (name, extra))
}

#[pymethods]
impl Frame {
    /// A table of columns of Python's values, which are all numbers, flags or text, or None.
    #[new]
    fn new(columns: &Bound<'_, PyDict>) -> PyResult<Frame> {
        let each = |(name, values): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            let name: String = name.extract()?;
            let values = column(&name, &values)?;
            Ok((name, values))
        };
        Frame::named(columns.iter().map(each).collect::<PyResult<_>>()?)
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.batch.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// A column as a list of Python's values.
    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let column = self.batch.column_by_name(name);
        let column = column.ok_or_else(|| {
            PyKeyError::new_err(format!(
                "no column '{name}': expected {}",
                self.columns().join(", ")
            ))
        })?;
        list(py, column)
    }

    /// A stream of one batch that shares the table's memory.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // Another schema is a wish, which the protocol lets a producer decline.
        let _ = requested_schema;
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// As a `pyarrow.Table`, which shares its memory.
    fn to_pyarrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        library(slf.py(), "pyarrow", "pandas")?.call_method1("table", (slf,))
    }

    /// As a `pandas.DataFrame`; columns of numbers are not copied. Needs pyarrow.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        library(slf.py(), "pandas", "pandas")?;
        let options = PyDict::new(slf.py());
        // Each column is a block of its own, which may then be Arrow's memory.
        options.set_item("split_blocks", true)?;
        Self::to_pyarrow(slf)?.call_method("to_pandas", (), Some(&options))
    }

    /// As a `polars.DataFrame`, which shares its memory.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        library(slf.py(), "polars", "polars")?.call_method1("DataFrame", (slf,))
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        const SHOWN: usize = 10;
        let rows = self.batch.num_rows();
        let head = self.batch.slice(0, rows.min(SHOWN));
        let columns = head.columns().iter().map(|column| list(py, column));
        let columns = columns.collect::<PyResult<Vec<_>>>()?;
        let text = |value: Bound<'_, PyAny>| -> PyResult<String> {
            Ok(if value.is_none() { String::new() } else { value.str()?.to_string() })
        };
        let row = |at| columns.iter().map(|column| text(column.get_item(at)?)).collect();
        let cells = (0..head.num_rows()).map(row).collect::<PyResult<Vec<Vec<String>>>>()?;
        Ok(html::table(&self.columns(), &cells) + &html::notes([format!("{rows} rows")]))
    }

    fn __repr__(&self) -> String {
        let names = self.columns().join(", ");
        format!("<covey.Frame of {} rows: {names}>", self.batch.num_rows())
    }
}
