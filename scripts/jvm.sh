#!/usr/bin/env bash
# Builds and tests the client for the JVM and the plug-in for Spark, for Scala 2.13 and 2.12. Says so and passes where Java
# 17, Maven or what Maven fetches is not there. The jars are jvm/target/covey-spark_*.jar.
set -euo pipefail
cd "$(dirname "$0")/../jvm"

left_out() {
    echo "The client for the JVM and the plug-in for Spark are not tested: $1."
    exit 0
}

command -v mvn >/dev/null || left_out 'there is no Maven (mvn)'
java=$(java -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p') || true
[[ ${java:-0} -ge 17 ]] || left_out "expected Java 17 or later, found ${java:-none}"
export LC_ALL=C.UTF-8
for scala in '' -Pscala-2.12; do
    mvn --batch-mode --quiet --no-transfer-progress $scala dependency:resolve >/dev/null 2>&1 ||
        left_out 'Maven cannot fetch Spark'
    mvn --batch-mode --quiet --no-transfer-progress $scala package
done
