#!/bin/sh
# Writes two event logs in the form of Spark's into this folder, for examples: `report`, a job that moves 19 GB, and
# `queries`, twelve jobs of 1.6 GB each. Both run on four hosts with four slots each, and at the same time.
set -eu

log() { # NAME JOBS FIRST_S EVERY_S TASKS BYTES_OF_A_MAP MAP_MS REDUCE_MS
    awk -v name="$1" -v jobs="$2" -v first_s="$3" -v every_s="$4" -v tasks="$5" -v bytes="$6" -v map_ms="$7" \
        -v reduce_ms="$8" '
    BEGIN {
        slots = 16
        start = 1767225600000
        print "{\"Event\":\"SparkListenerLogStart\",\"Spark Version\":\"4.0.1\"}"
        printf "{\"Event\":\"SparkListenerApplicationStart\",\"App Name\":\"%s\",\"App ID\":\"%s\",\"Timestamp\":%.0f}\n", \
            name, name, start
        for (job = 0; job < jobs; job++) {
            now = start + (first_s + job * every_s) * 1000
            printf "{\"Event\":\"SparkListenerJobStart\",\"Job ID\":%d,\"Submission Time\":%.0f,\"Stage IDs\":[%d,%d]}\n", \
                job, now, 2 * job, 2 * job + 1
            now = stage(2 * job, "", now, map_ms, bytes, 0)
            now = stage(2 * job + 1, 2 * job, now, reduce_ms, 0, bytes)
            printf "{\"Event\":\"SparkListenerJobEnd\",\"Job ID\":%d,\"Completion Time\":%.0f}\n", job, now + 10
        }
        printf "{\"Event\":\"SparkListenerApplicationEnd\",\"Timestamp\":%.0f}\n", now + 1000
    }
    # Each task reads a quarter of its bytes on its own host. Returns the end of the stage.
    function stage(id, parents, now, ms, written, read,    k, host, launch) {
        told("Submitted", id, parents, now, now)
        for (k = 0; k < tasks; k++) {
            host = k % 4 + 1
            launch = now + 20 + int(k / slots) * (ms + 5)
            printf "{\"Event\":\"SparkListenerTaskEnd\",\"Stage ID\":%d,\"Stage Attempt ID\":0,", id
            printf "\"Task End Reason\":{\"Reason\":\"Success\"},\"Task Info\":{\"Task ID\":%d,\"Index\":%d,", 1000 * id + k, k
            printf "\"Launch Time\":%.0f,\"Executor ID\":\"%d\",\"Host\":\"host-%d\",\"Finish Time\":%.0f},", \
                launch, host, host, launch + ms
            printf "\"Task Metrics\":{\"Executor Run Time\":%d,\"Shuffle Read Metrics\":{", ms
            printf "\"Remote Blocks Fetched\":%d,\"Local Blocks Fetched\":%d,\"Fetch Wait Time\":0,", \
                read ? tasks * 3 / 4 : 0, read ? tasks / 4 : 0
            printf "\"Remote Bytes Read\":%d,\"Local Bytes Read\":%d},", read * 3 / 4, read / 4
            printf "\"Shuffle Write Metrics\":{\"Shuffle Bytes Written\":%d,\"Shuffle Records Written\":1000}}}\n", written
        }
        now = launch + ms + 10
        told("Completed", id, parents, launch - 20, now)
        return now
    }
    function told(event, id, parents, from, to) {
        printf "{\"Event\":\"SparkListenerStage%s\",\"Stage Info\":{\"Stage ID\":%d,\"Stage Attempt ID\":0,", event, id
        printf "\"Number of Tasks\":%d,\"RDD Info\":[{\"RDD ID\":%d}],\"Parent IDs\":[%s],", tasks, id, parents
        if (event == "Submitted")
            printf "\"Submission Time\":%.0f}}\n", from
        else
            printf "\"Completion Time\":%.0f}}\n", to
    }' > "$1"
}

log report 1 1 0 32 600000000 10000 5000
log queries 12 15 6 16 100000000 1000 1000
