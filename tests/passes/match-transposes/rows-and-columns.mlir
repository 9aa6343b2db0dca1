// adc opt --passes=match-transposes,tidy
// A nest that stores along one loop what it loads along another one copies a transposed view. A loop between stays.

func.func @f(%x: memref<?x?x?xf64> {adc.readonly = true}, %y: memref<?x?x?xf64>, %l: index, %m: index, %n: index) attributes {adc.entry = true} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%l) step (%c1) {
    scf.parallel (%j) = (%c0) to (%m) step (%c1) {
      %j1 = arith.addi %j, %c1 : index
      scf.parallel (%k) = (%c0) to (%n) step (%c1) {
        %a = memref.load %x[%k, %i, %j1] : memref<?x?x?xf64>
        memref.store %a, %y[%i, %j, %k] : memref<?x?x?xf64>
        scf.reduce()
      }
      scf.reduce()
    }
    scf.reduce()
  } {threads = true}
  func.return
}

// becomes
func.func @f(%x: memref<?x?x?xf64> {adc.readonly = true}, %y: memref<?x?x?xf64>, %l: index, %m: index, %n: index) attributes {adc.entry = true} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = arith.maxsi %m, %c0 : index
  %1 = arith.maxsi %n, %c0 : index
  scf.parallel (%x_0) = (%c0) to (%l) step (%c1) {
    %2 = memref.subview %x[%c0, %x_0, %c1][%1, %c1, %0][%c1, %c1, %c1] {dropped = [1], static_steps = [1, 1, 1]} : memref<?x?x?xf64> to memref<?x?xf64, strided<[?, 1], offset: ?>>
    %3 = memref.transpose %2 {permutation = [1, 0]} : memref<?x?xf64, strided<[?, 1], offset: ?>> to memref<?x?xf64, strided<[1, ?], offset: ?>>
    %4 = memref.subview %y[%x_0, %c0, %c0][%c1, %0, %1][%c1, %c1, %c1] {dropped = [0], static_steps = [1, 1, 1]} : memref<?x?x?xf64> to memref<?x?xf64, strided<[?, 1], offset: ?>>
    memref.copy %3, %4 : memref<?x?xf64, strided<[1, ?], offset: ?>> to memref<?x?xf64, strided<[?, 1], offset: ?>>
    scf.reduce()
  } {threads = true}
  func.return
}
