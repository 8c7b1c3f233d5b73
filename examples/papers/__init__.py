"""The four papers, item by item: what each says, where it lives here, and what comes out when it is computed."""
