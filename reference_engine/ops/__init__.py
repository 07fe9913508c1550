"""The arithmetic of the decoder. One module per kind of device, all with the functions of `cpu`."""
