/** The plug-in for Spark: {@code spark.plugins=org.covey.spark.CoveyPlugin}. */
package org.covey.spark;
