#!/usr/bin/env bash
# Builds and tests the client for the JVM and the plug-in for Spark, for Scala 2.13 and 2.12. The jars are
# jvm/target/covey-spark_*.jar. Where Java 17, Maven or what Maven fetches is not there, it says so and passes; with
# SKIP_NOTHING set it fails.
#
# Tests start a cluster of Spark, coordinators and agents. They use the command `covey` of the profile `dev`, which is
# compiled if it is absent.
set -euo pipefail
cd "$(dirname "$0")/.."
CARGO_TARGET_DIR=$(realpath -m "${CARGO_TARGET_DIR:-target}")
export CARGO_TARGET_DIR

left_out() {
    echo "The client for the JVM and the plug-in for Spark are not tested: $1."
    [[ -z ${SKIP_NOTHING:-} ]]
    exit
}

command -v mvn >/dev/null || left_out 'there is no Maven (mvn)'
java=$(java -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p') || true
[[ ${java:-0} -ge 17 ]] || left_out "expected Java 17 or later, found ${java:-none}"
export LC_ALL=C.UTF-8

maven() {
    mvn --batch-mode --quiet --no-transfer-progress -Dstyle.color=never --file jvm/pom.xml "$@"
}

for scala in 2.13 2.12; do
    maven "-Pscala-$scala" dependency:resolve >/dev/null 2>&1 || left_out 'Maven cannot fetch Spark'
done
# With this selection Cargo compiles nothing beyond `make rust`.
cargo build --quiet --locked --workspace --bin covey --example shuffle
export COVEY=$CARGO_TARGET_DIR/debug/covey
# Tests start real clusters beside other tests, and may be late there: what fails runs once more, and Maven says so.
maven -Pscala-2.13 -Dsurefire.rerunFailingTestsCount=1 package
# Without those that need one version of Spark only.
maven -Pscala-2.12 -Dsurefire.rerunFailingTestsCount=1 -DexcludedGroups=one-version package
