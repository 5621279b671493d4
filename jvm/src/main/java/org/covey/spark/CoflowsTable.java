package org.covey.spark;

import java.util.List;
import java.util.Locale;
import java.util.Map;

import scala.xml.Utility;

/** The table of coflows in Spark's pages. */
final class CoflowsTable {
    private static final int MAX_ROWS = 1_000;

    private CoflowsTable() {}

    /**
     * The latest first.
     *
     * @param stage the address of the page of stages
     */
    static String html(List<CoflowRow> rows, String stage) {
        StringBuilder html = new StringBuilder();
        int first = Math.max(0, rows.size() - MAX_ROWS);
        if (first > 0) {
            html.append("<p>The latest ").append(MAX_ROWS).append(" of ").append(rows.size()).append(".</p>");
        }
        html.append("<table class=\"table table-striped table-sm sortable\"><thead><tr><th>Coflow</th><th>Stage</th>"
                + "<th>Shuffle</th><th>Bytes</th><th>CCT</th><th>Waited</th><th>For</th></tr></thead><tbody>");
        for (int k = rows.size() - 1; k >= first; k--) {
            row(html, rows.get(k), stage);
        }
        return html.append("</tbody></table><p>Bytes are those that executors have received from one another. The CCT is "
                + "the time of the stage. A coflow waits while the coordinator serves none of its flows.</p>").toString();
    }

    private static void row(StringBuilder html, CoflowRow row, String stage) {
        html.append("<tr><td>").append(Utility.escape(row.name)).append("</td><td><a href=\"").append(stage)
                .append("?id=").append(row.stage).append("&amp;attempt=").append(row.attempt).append("\">")
                .append(row.stage).append('.').append(row.attempt).append("</a></td><td>")
                .append(row.shuffle < 0 ? "all" : String.valueOf(row.shuffle));
        cell(html, row.bytes, String.format(Locale.ROOT, "%,d", row.bytes));
        cell(html, row.end - row.begin, row.end == 0 ? "runs" : seconds((row.end - row.begin) / 1e3));
        cell(html, row.waited, seconds(row.waited));
        html.append("</td><td>");
        String separator = "";
        for (Map.Entry<String, Double> other : row.behind.entrySet()) {
            html.append(separator).append(Utility.escape(other.getKey())).append(" (")
                    .append(seconds(other.getValue())).append(')');
            separator = ", ";
        }
        html.append("</td></tr>");
    }

    /** Ends a cell, and begins one that is sorted by a number. */
    private static void cell(StringBuilder html, double key, String text) {
        html.append(String.format(Locale.ROOT, "</td><td sorttable_customkey=\"%.6f\">", key)).append(text);
    }

    private static String seconds(double seconds) {
        return String.format(Locale.ROOT, "%.3f s", seconds);
    }
}
