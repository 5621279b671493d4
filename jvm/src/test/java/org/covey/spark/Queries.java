package org.covey.spark;

import static org.apache.spark.sql.functions.max;

import java.util.ArrayList;
import java.util.List;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/** Two joins and two aggregations. */
final class Queries {
    private Queries() {}

    /** Runs them; gives their results in an order of their own. */
    static List<String> run(SparkSession spark) {
        Dataset<Row> orders = spark.range(60_000)
                .selectExpr("id", "id % 1000 as customer", "concat('order ', id, ' of ', id % 1000) as text");
        Dataset<Row> customers = spark.range(1_000).selectExpr("id as customer", "concat('name ', id) as name");
        Dataset<Row> joined = orders.repartition(5).join(customers, "customer");
        List<String> results = new ArrayList<>();
        for (Row row : joined.groupBy("name").count().collectAsList()) {
            results.add(row.toString());
        }
        for (Row row : joined.groupBy("customer").agg(max("text")).collectAsList()) {
            results.add(row.toString());
        }
        results.sort(null);
        return results;
    }
}
