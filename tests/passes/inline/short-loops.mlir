// adc opt --passes=inline
// A short function with a loop becomes part of its caller wherever that calls it, so that the loops can be fused.

func.func @act(%x: memref<?xf64>) -> memref<?xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, 0 : memref<?xf64>
  %y = memref.alloc(%n) : memref<?xf64>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %a = memref.load %x[%i] : memref<?xf64>
    %b = math.tanh %a : f64
    memref.store %b, %y[%i] : memref<?xf64>
    scf.reduce()
  }
  func.return %y : memref<?xf64>
}

func.func @f(%x: memref<?xf64>) -> memref<?xf64> attributes {adc.entry = true} {
  %y = func.call @act(%x) : (memref<?xf64>) -> memref<?xf64>
  %z = func.call @act(%y) : (memref<?xf64>) -> memref<?xf64>
  func.return %z : memref<?xf64>
}

// becomes
func.func @f(%x: memref<?xf64>) -> memref<?xf64> attributes {adc.entry = true} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, 0 : memref<?xf64>
  %y = memref.alloc(%n) : memref<?xf64>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %a = memref.load %x[%i] : memref<?xf64>
    %b = math.tanh %a : f64
    memref.store %b, %y[%i] : memref<?xf64>
    scf.reduce()
  }
  %c0_0 = arith.constant 0 : index
  %c1_0 = arith.constant 1 : index
  %n_0 = memref.dim %y, 0 : memref<?xf64>
  %y_0 = memref.alloc(%n_0) : memref<?xf64>
  scf.parallel (%i_0) = (%c0_0) to (%n_0) step (%c1_0) {
    %a_0 = memref.load %y[%i_0] : memref<?xf64>
    %b_0 = math.tanh %a_0 : f64
    memref.store %b_0, %y_0[%i_0] : memref<?xf64>
    scf.reduce()
  }
  func.return %y_0 : memref<?xf64>
}
