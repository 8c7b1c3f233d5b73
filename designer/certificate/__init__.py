"""What every frozen object is certified by: norms, sensitivities, certificates, guarantees, and how claims are compared."""
