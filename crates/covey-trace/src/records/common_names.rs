//! Names that columns of flows commonly have.

/// Keys of `--columns` with common names of their columns, in small letters and without what is no
/// letter or digit.
const NAMES: [(&str, &[&str]); 9] = [
    (
        "start",
        &[
            "start",
            "starttime",
            "startts",
            "begin",
            "begintime",
            "ts",
            "timestamp",
            "time",
            "datetime",
            "first",
            "firstseen",
            "flowstart",
            "flowstarttime",
            "arrival",
            "arrivaltime",
        ],
    ),
    (
        "end",
        &[
            "end",
            "endtime",
            "endts",
            "te",
            "stop",
            "stoptime",
            "finish",
            "last",
            "lastseen",
            "flowend",
            "flowendtime",
        ],
    ),
    ("duration", &["duration", "dur", "elapsed", "flowduration"]),
    (
        "src",
        &[
            "src",
            "source",
            "srcip",
            "srcaddr",
            "srcaddress",
            "srchost",
            "sourceip",
            "sourceaddress",
            "sourcehost",
            "sourceipv4address",
            "saddr",
            "client",
            "sender",
            "from",
        ],
    ),
    (
        "dst",
        &[
            "dst",
            "dest",
            "destination",
            "dstip",
            "dstaddr",
            "dstaddress",
            "dsthost",
            "destip",
            "destaddr",
            "desthost",
            "destinationip",
            "destinationaddress",
            "destinationhost",
            "destinationipv4address",
            "daddr",
            "server",
            "receiver",
            "to",
        ],
    ),
    ("sport", &["sport", "srcport", "sourceport", "sourcetransportport", "clientport"]),
    (
        "dport",
        &[
            "dport",
            "dstport",
            "destport",
            "destinationport",
            "destinationtransportport",
            "serverport",
        ],
    ),
    ("proto", &["proto", "protocol", "ipprotocol", "protocolidentifier"]),
    (
        "bytes",
        &[
            "bytes",
            "size",
            "sizebytes",
            "octets",
            "totalbytes",
            "numbytes",
            "nbytes",
            "bytecount",
            "bytessent",
            "sentbytes",
            "octetdeltacount",
        ],
    ),
];
/// The same of coflows. A job may have several coflows, and so stands for none.
const COFLOW: &[&str] = &["coflow", "coflowid", "label"];
/// Endings of names that say a unit, as powers of ten of a second.
const UNITS: [(&str, i64); 11] = [
    ("milliseconds", -3),
    ("millis", -3),
    ("ms", -3),
    ("microseconds", -6),
    ("micros", -6),
    ("us", -6),
    ("nanoseconds", -9),
    ("ns", -9),
    ("seconds", 0),
    ("sec", 0),
    ("s", 0),
];

/// A column that may be meant.
pub(super) struct Candidate<'a> {
    pub name: &'a str,
    /// The unit that its name says, as a power of ten of a second.
    pub unit: Option<i64>,
}

/// The columns that may be meant by a key of `--columns`.
pub(super) fn columns<'a>(key: &str, names: impl Iterator<Item = &'a str>) -> Vec<Candidate<'a>> {
    let known = match key {
        "coflow" => COFLOW,
        key => NAMES.iter().find(|(it, _)| *it == key).map_or(&[][..], |(_, known)| known),
    };
    let is_time = ["start", "end", "duration"].contains(&key);
    let candidate = |name: &'a str| {
        let letters = name.chars().filter(char::is_ascii_alphanumeric);
        let plain: String = letters.map(|c| c.to_ascii_lowercase()).collect();
        if known.contains(&plain.as_str()) {
            return Some(Candidate { name, unit: None });
        }
        let with_unit = |&(ending, unit): &(&str, i64)| {
            plain.strip_suffix(ending).filter(|plain| known.contains(plain)).map(|_| unit)
        };
        let unit = UNITS.iter().filter(|_| is_time).find_map(with_unit)?;
        Some(Candidate { name, unit: Some(unit) })
    };
    names.filter_map(candidate).collect()
}
