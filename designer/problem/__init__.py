"""What is asked and what must be hidden: workloads, domains, histograms and relations."""
