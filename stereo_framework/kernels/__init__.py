"""What several families of stages compute. These kernels know arrays and numbers alone."""
