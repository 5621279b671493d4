#!/usr/bin/env bash
# scripts/measure.sh [NAME]: makes the measurements of a page in docs/. Without a name it lists what there is.
#
# TRACE names a trace, usually the Facebook trace; without it a generated one is used where that makes sense.
# UPDATE=yes writes the result into the page.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
release=$CARGO_TARGET_DIR/release
trace=(${TRACE:+"$TRACE"})
update=(${UPDATE:+--update})

build() {
    cargo build --locked --release --package covey "$@"
}

case ${1:-} in
'')
    echo 'make measure WHAT=…'
    sed -n 's/^\([a-z-]*\)) # /\1|/p' scripts/measure.sh | while IFS='|' read -r name what; do
        printf '    %-16s  %s\n' "$name" "$what"
    done
    ;;
simulator) # docs/measurements/simulator.md, without how costs grow
    scripts/bench.sh "${trace[@]}" "${update[@]}"
    ;;
growth) # docs/measurements/simulator.md: costs with more coflows, flows, ports, events (POLICIES="sebf aalo", LIMIT=60)
    # shellcheck disable=SC2086
    scripts/growth.sh "${update[@]}" ${POLICIES:-}
    ;;
policies) # docs/policies.md
    scripts/policies.sh "${trace[@]}" "${update[@]}"
    ;;
covey-policy) # docs/covey-policy.md
    scripts/policy-table.sh "${trace[@]}" "${update[@]}"
    ;;
rounding) # docs/measurements: sizes × (1 ± 1e-12), and parallel copies of a trace; ten minutes
    scripts/rounding.sh "${trace[@]}"
    ;;
fabrics) # docs/fabrics.md
    scripts/fabric-bench.sh "${trace[@]}" "${update[@]}"
    ;;
identification) # docs/identify.md
    scripts/identification.sh "${trace[@]}" "${update[@]}"
    ;;
tenants) # docs/tenants.md: what isolation costs and gives (DEAL=yes measures the price alone)
    build --bins
    scripts/tenants.py "$release/covey" "${trace[@]}" ${DEAL:+--deal}
    ;;
coordinator) # docs/measurements/coordinator.md (LIVE_SECONDS=600)
    scripts/live-bench.sh "${trace[@]}"
    ;;
relays) # docs/measurements/coordinator.md: 40,000 agents behind relays
    scripts/relay-bench.sh
    ;;
flows) # docs/measurements/client-library.md: flows
    scripts/flow-bench.sh
    ;;
tokens) # docs/measurements/client-library.md: tokens
    scripts/token-bench.sh
    ;;
htb) # docs/measurements/client-library.md: HTB and DSCP; needs root
    scripts/htb-bench.sh
    ;;
attach) # docs/attach.md; needs root and BPF
    build
    scripts/attach_bench.py "$release/covey"
    ;;
testbed-short) # docs/testbed.md: a short trace over real sockets between emulated hosts; needs root
    scripts/testbed-short.sh "${trace[@]}"
    ;;
testbed-faults) # docs/testbed.md: the same while coordinator, agent, link and host break; needs root
    scripts/testbed-faults.sh "${trace[@]}"
    ;;
testbed-codec) # docs/compression.md: compressible flows, with and without compression; needs root
    scripts/testbed-codec.sh "${trace[@]}"
    ;;
testbed) # docs/testbed.md: the whole trace, half an hour; needs root
    build
    "$release/covey" testbed "${TRACE:-builtin:fb-like}"
    ;;
spark-codecs) # docs/whatif.md: what the codecs of Spark write; needs Java 17 and Maven
    mkdir -p "$CARGO_TARGET_DIR"
    mvn --batch-mode --quiet --file jvm/pom.xml dependency:build-classpath \
        -Dmdep.outputFile="$CARGO_TARGET_DIR/spark-jars" -Dstyle.color=never
    java --add-opens=java.base/java.nio=ALL-UNNAMED --add-opens=java.base/sun.nio.ch=ALL-UNNAMED \
        -cp "$(cat "$CARGO_TARGET_DIR/spark-jars")" scripts/spark/Codecs.java
    ;;
spark-swallow) # docs/papers.md: applications like HiBench's with and without Swallow; needs root, Java 17 and Maven
    build
    examples/spark/swallow.py "$release/covey" --output "$CARGO_TARGET_DIR/spark-swallow.json"
    "$release/covey" reproduce swallow --spark "$CARGO_TARGET_DIR/spark-swallow.json"
    ;;
spark-labels) # docs/identify.md: how well coflows of Spark are found; needs root, BPF, Java 17 and Maven
    build
    examples/spark/labels.py "$release/covey" --output "$CARGO_TARGET_DIR/spark-labelled.csv"
    ;;
spark-overhead) # docs/spark.md: what the modes of the plug-in cost; needs root, BPF, Java 17 and Maven
    build
    examples/spark/demo.py "$release/covey" --overhead --scale 0.1 --pairs 20
    ;;
*)
    echo "there is no measurement '$1'; scripts/measure.sh lists them" >&2
    exit 2
    ;;
esac
