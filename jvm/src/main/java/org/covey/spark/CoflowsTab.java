package org.covey.spark;

import java.util.List;
import java.util.function.Supplier;

import org.apache.spark.ui.SparkUI;
import org.apache.spark.ui.SparkUITab;

/** The tab of coflows among Spark's. */
final class CoflowsTab extends SparkUITab {
    private CoflowsTab(SparkUI ui) {
        super(ui, "coflows");
    }

    /** Gives Spark's pages the tab. */
    static void attach(SparkUI ui, Supplier<List<CoflowRow>> rows) {
        CoflowsTab tab = new CoflowsTab(ui);
        tab.attachPage(new CoflowsPage(tab, rows));
        ui.attachTab(tab);
    }
}
