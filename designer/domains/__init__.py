"""Tables over product domains of any size: marginals and structured workloads, planned, certified and released."""
