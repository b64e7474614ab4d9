"""Methods that cut an order of records: projections, tours, Mic1D-k."""
