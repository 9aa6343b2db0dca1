// adc opt --passes=first-writes,tidy
// Zeros, to each of which one term is added: the loop stores the terms instead.

func.func @f(%x: memref<?xf64>, %i: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %x, 0 : memref<?xf64>
  %y = memref.alloc(%n) : memref<?xf64>
  linalg.fill ins(%zero : f64) outs(%y : memref<?xf64>)
  scf.for %j = %c0 to %n step %c1 {
    %a = memref.load %x[%j] : memref<?xf64>
    %b = memref.load %y[%j] : memref<?xf64>
    %s = arith.subf %b, %a : f64
    memref.store %s, %y[%j] : memref<?xf64>
    scf.yield
  }
  %r = memref.load %y[%i] : memref<?xf64>
  func.return %r : f64
}

// becomes
func.func @f(%x: memref<?xf64>, %i: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %x, 0 : memref<?xf64>
  %y = memref.alloc(%n) : memref<?xf64>
  scf.for %j = %c0 to %n step %c1 {
    %a = memref.load %x[%j] : memref<?xf64>
    memref.store %zero, %y[%j] : memref<?xf64>
    %s = arith.subf %zero, %a : f64
    memref.store %s, %y[%j] : memref<?xf64>
    scf.yield
  }
  %r = memref.load %y[%i] : memref<?xf64>
  func.return %r : f64
}
