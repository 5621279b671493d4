package org.covey.spark;

import static org.apache.spark.sql.functions.max;

import java.util.ArrayList;
import java.util.List;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/** Joins and aggregations. */
final class Queries {
    private Queries() {}

    private static Dataset<Row> joined(SparkSession spark, long rows) {
        Dataset<Row> orders = spark.range(rows)
                .selectExpr("id", "id % 1000 as customer", "concat('order ', id, ' of ', id % 1000) as text");
        Dataset<Row> customers = spark.range(1_000).selectExpr("id as customer", "concat('name ', id) as name");
        return orders.repartition(5).join(customers, "customer");
    }

    private static List<String> sorted(List<Row> rows) {
        return new ArrayList<>(rows.stream().map(Row::toString).sorted().toList());
    }

    /** Runs two joins and two aggregations; gives their results in an order of their own. */
    static List<String> run(SparkSession spark) {
        Dataset<Row> joined = joined(spark, 60_000);
        List<String> results = sorted(joined.groupBy("name").count().collectAsList());
        results.addAll(sorted(joined.groupBy("customer").agg(max("text")).collectAsList()));
        return results;
    }

    /** Runs one of each, on few rows. */
    static List<String> few(SparkSession spark) {
        return sorted(joined(spark, 2_000).groupBy("name").count().collectAsList());
    }
}
